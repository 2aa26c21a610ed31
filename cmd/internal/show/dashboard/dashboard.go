// Package dashboard shows a served ensemble on a live page.
package dashboard

import (
	"embed"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-sim/interlock/internal/base/localhttp"
	"github.com/interlock-sim/interlock/simzk/tcp"
	"github.com/interlock-sim/interlock/simzk/tree"
)

//go:embed page.html page.css page.js
var files embed.FS

// Limits of what the page shows.
const (
	requestsMax = 200 // the latest
	nodesMax    = 1000
	dataMax     = 80 // bytes of a node
)

// A Dashboard shows the state of an ensemble and its latest requests.
type Dashboard struct {
	mu       sync.Mutex
	requests []request // the oldest first
}

// Note adds a request; see [tcp.Config].
func (d *Dashboard) Note(r tcp.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.requests) == requestsMax {
		d.requests = append(d.requests[:0], d.requests[1:]...)
	}
	d.requests = append(d.requests, newRequest(&r))
}

// Site returns the page for a server.
func (d *Dashboard) Site(server *tcp.Server) *localhttp.Site {
	mux := http.NewServeMux()
	static := http.FileServerFS(files)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy",
			"default-src 'self'; img-src data:; frame-ancestors 'none'")
		http.ServeFileFS(w, r, files, "page.html")
	})
	mux.Handle("GET /page.css", static)
	mux.Handle("GET /page.js", static)
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		localhttp.Write(w, http.StatusOK, d.state(server))
	})
	return localhttp.NewSite(mux)
}

// A state is what the page shows. Numbers that may exceed 2^53 are text.
type state struct {
	Version string `json:"version"`
	tcp.Status
	SessionList []session `json:"session_list"`
	WatchList   []watch   `json:"watch_list"`
	NodeList    []node    `json:"node_list"`
	Requests    []request `json:"requests"` // the latest first
}

type session struct {
	ID         string `json:"id"`
	TimeoutMS  int64  `json:"timeout_ms"`
	Server     int    `json:"server"` // 0 if the client is not connected
	Ephemerals int    `json:"ephemerals"`
}

type watch struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"`
	Session string `json:"session"`
	Server  int    `json:"server"`
}

type node struct {
	Path    string `json:"path"`
	Data    string `json:"data"`
	Version int32  `json:"version"`
	Owner   string `json:"owner"` // session of an ephemeral node, or ""
}

type request struct {
	At      time.Time `json:"at"`
	TookMS  float64   `json:"took_ms"`
	Server  int       `json:"server"`
	Session string    `json:"session"`
	Request string    `json:"request"`
	Result  string    `json:"result"` // "" for success
}

func newRequest(r *tcp.Request) request {
	return request{
		At: r.At, TookMS: float64(r.Took.Microseconds()) / 1000, Server: r.Server,
		Session: hex(r.Session), Request: r.Request, Result: r.Result,
	}
}

// state returns what the page shows now.
func (d *Dashboard) state(server *tcp.Server) *state {
	shot := server.Snapshot()
	s := &state{
		Version: server.Version(), Status: shot.Status,
		SessionList: []session{}, WatchList: []watch{}, NodeList: []node{}, Requests: []request{},
	}
	id := func(index int) int {
		if index < 0 {
			return 0
		}
		return shot.Servers[index].Server
	}
	for _, x := range shot.Sessions {
		s.SessionList = append(s.SessionList, session{
			hex(x.ID), x.Timeout.Milliseconds(), id(x.Server), len(x.Ephemeral),
		})
	}
	for _, x := range shot.Watches {
		kind := "data"
		if x.Children {
			kind = "children"
		}
		s.WatchList = append(s.WatchList, watch{x.Path, kind, hex(x.Session), id(x.Server)})
	}
	slices.SortFunc(shot.Nodes, func(a, b tree.NodeInfo) int {
		return strings.Compare(treeOrder(a.Path), treeOrder(b.Path))
	})
	for _, x := range shot.Nodes[:min(len(shot.Nodes), nodesMax)] {
		owner := ""
		if x.Stat.EphemeralOwner != 0 {
			owner = hex(x.Stat.EphemeralOwner)
		}
		s.NodeList = append(s.NodeList, node{x.Path, preview(x.Data), x.Stat.Version, owner})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.requests {
		s.Requests = append(s.Requests, d.requests[len(d.requests)-1-i])
	}
	return s
}

// treeOrder returns a text whose order puts each node before its children, and these before the
// next node.
func treeOrder(path string) string { return strings.ReplaceAll(path, "/", "\x00") }

// preview returns the beginning of a node's data, printable.
func preview(data []byte) string {
	text := strconv.Quote(string(data[:min(len(data), dataMax)]))
	text = text[1 : len(text)-1]
	if len(data) > dataMax {
		text += "…"
	}
	return text
}

func hex(n int64) string { return fmt.Sprintf("0x%x", uint64(n)) }
