package dashboard_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/cmd/internal/show/dashboard"
	"github.com/interlock-sim/interlock/cmd/internal/testkit/chromium"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// shown starts an ensemble of two servers and its page, and returns the URL.
func shown(t *testing.T) (*tcp.Server, string) {
	t.Helper()
	d := new(dashboard.Dashboard)
	server, err := tcp.Start(tcp.Config{
		Cluster: simzk.Config{Lag: true}, Requests: d.Note,
	}, "127.0.0.1:0", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	site := d.Site(server)
	web := httptest.NewServer(site)
	t.Cleanup(web.Close)
	return server, site.URL(web.Listener)
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// use creates nodes and sets watches at the second server.
func use(t *testing.T, server *tcp.Server) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect(server.Addresses()[1:], 20*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	for path, flags := range map[string]int32{"/locks": 0, "/locks-b": 0} {
		if _, err := conn.Create(path, []byte("<b>\x00"), flags,
			zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Create("/locks/a", []byte(strings.Repeat("x", 100)), zk.FlagEphemeral,
		zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := conn.GetW("/locks/a"); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := conn.ChildrenW("/locks"); err != nil {
		t.Fatal(err)
	}
	if err := conn.Delete("/nosuch", -1); err != zk.ErrNoNode {
		t.Fatal(err)
	}
	return conn
}

// The state of the page has the servers, sessions, watches, nodes and the latest requests.
func TestState(t *testing.T) {
	server, url := shown(t)
	use(t, server)
	if err := server.Delay(0, 5*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(url + "state")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var state struct {
		Servers []struct {
			State  string
			Faults []string
		}
		SessionList []struct {
			ID                 string
			Server, Ephemerals int
		} `json:"session_list"`
		WatchList []struct{ Path, Kind, Session string } `json:"watch_list"`
		NodeList  []struct{ Path, Data, Owner string }   `json:"node_list"`
		Requests  []struct{ Request, Result string }
	}
	if err := json.NewDecoder(response.Body).Decode(&state); err != nil {
		t.Fatal(err)
	}
	if len(state.Servers) != 2 || state.Servers[1].State != "leader" ||
		strings.Join(state.Servers[0].Faults, ";") != "delay 5ms" {
		t.Errorf("servers %+v", state.Servers)
	}
	if len(state.SessionList) != 1 || state.SessionList[0].Server != 2 ||
		state.SessionList[0].Ephemerals != 1 {
		t.Fatalf("sessions %+v", state.SessionList)
	}
	session := state.SessionList[0].ID
	if len(state.WatchList) != 2 || state.WatchList[0].Path != "/locks" ||
		state.WatchList[0].Kind != "children" || state.WatchList[1].Session != session {
		t.Errorf("watches %+v", state.WatchList)
	}
	var paths []string
	for _, n := range state.NodeList {
		paths = append(paths, n.Path)
		switch n.Path {
		case "/locks/a":
			if n.Owner != session || n.Data != strings.Repeat("x", 80)+"…" {
				t.Errorf("%+v", n)
			}
		case "/locks":
			if n.Owner != "" || n.Data != `<b>\x00` {
				t.Errorf("%+v", n)
			}
		}
	}
	if got := strings.Join(paths, " "); got != "/ /locks /locks/a /locks-b /zookeeper "+
		"/zookeeper/config /zookeeper/quota" {
		t.Errorf("nodes %s", got)
	}
	if len(state.Requests) < 7 || state.Requests[0].Request != "delete /nosuch" ||
		state.Requests[0].Result != "no node" || state.Requests[1].Result != "" {
		t.Errorf("requests %+v", state.Requests)
	}
}

var image = flag.String("image", "", "write an image of the page to this `file`")

// TestMain ends the browser of the tests.
func TestMain(m *testing.M) { chromium.Main(m) }

// The page follows the state of the servers.
func TestPage(t *testing.T) {
	server, url := shown(t)
	conn := use(t, server)
	b := chromium.Open(t, url)
	b.Do(chromedp.Navigate(url))
	b.AwaitText("#summary", "3.8.0-interlock")
	b.AwaitText("#servers", "leader")
	b.AwaitText("#sessions", "20000 ms")
	b.AwaitText("#watches", "/locks/a data")
	b.AwaitText("#nodes", `<b>\x00`)
	b.AwaitText("#requests", "delete /nosuch")
	if *image != "" {
		if err := server.Lag(0, time.Second); err != nil {
			t.Fatal(err)
		}
		b.AwaitText("#servers", "lag 1s")
		picture := chromium.Get(b, chromedp.CaptureScreenshot())
		if err := os.WriteFile(filepath.Clean(*image), picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Set("/locks/a", []byte("changed"), -1); err != nil {
		t.Fatal(err)
	}
	b.AwaitText("#nodes", "changed")
	if err := server.Kill(0); err != nil {
		t.Fatal(err)
	}
	b.AwaitText("#servers", "down")
	b.AwaitText("#sessions", "not connected")
}
