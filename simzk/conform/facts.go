// Package conform tells whether a server of ZooKeeper's protocol behaves as ZooKeeper does. It
// speaks to a server by its address alone, so that a real server and a simulated one are asked the
// same questions: [Facts] are a fixed list of questions, whose answers by releases of ZooKeeper are
// known, and [Differ] asks two servers the same random questions and compares.
package conform

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

//go:embed testdata/facts-*.txt
var golden embed.FS

// Versions returns the releases of ZooKeeper whose facts are known.
func Versions() []string {
	return []string{"3.8.0", "3.9.4"}
}

// Golden returns the facts of a release of ZooKeeper, of a single server with a tick of two
// seconds, TTL nodes enabled and no other limits than those that it has by itself. The last section
// is not known of every release.
func Golden(version string) ([]string, error) {
	if !slices.Contains(Versions(), version) {
		return nil, fmt.Errorf("the facts of ZooKeeper %s are not known, only those of %s", version,
			strings.Join(Versions(), " and "))
	}
	text, err := golden.ReadFile("testdata/facts-" + version + ".txt")
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), nil
}

// A section is a part of the facts, about one thing.
type section struct {
	name  string
	write func(*probe)
}

var sections = []section{
	{"handshake", (*probe).handshake},
	{"basics", (*probe).basics},
	{"sequence", (*probe).sequence},
	{"multi", (*probe).multi},
	{"watches", (*probe).watches},
	{"setwatches", (*probe).setWatches},
	{"ephemerals", (*probe).ephemerals},
	{"acls", (*probe).acls},
	{"frames", (*probe).frames},
	{"oddities", (*probe).cornerCases},
}

// Facts puts fixed questions to the server at that address and reports its answers, one fact a
// line, each section's after a heading. Facts hold nothing that differs from run to run: paths are
// shown relative to a root that the run creates, and deletes at its end, zxids relative to each
// other, and session ids and times not at all.
//
// While Facts runs nobody else may write to the server, and no server may be asked that matters to
// anybody: release 3.8.0 logs one of the requests in a way that keeps it from starting with that
// log again.
//
// A server that answers nonsense, or leaves a question unanswered, is no error; the facts show it.
// The error is a [ServerError] if there is no server, or none any more, or says that the context
// has ended.
func Facts(ctx context.Context, address string, report func(fact string)) error {
	h := newHost(ctx, address)
	defer h.lose(nil)
	p := &probe{host: h, report: report}
	first := p.open()
	if lost := h.lost(); lost != nil {
		return lost
	}
	if first.err != nil {
		return cmp.Or(ctx.Err(),
			error(&ServerError{address, fmt.Errorf("no session: %w", first.err)}))
	}
	// The server gives every session another id, so a root that is named after one is new.
	p.root = fmt.Sprintf("/facts-%x", first.SessionID)
	p.end()
	for _, s := range sections {
		if h.ctx.Err() != nil {
			break
		}
		report("## " + s.name)
		s.write(p)
		p.end()
	}
	if lost := h.lost(); lost != nil {
		return lost
	}
	p.host = h.lasting()
	p.sweep()
	return cmp.Or(ctx.Err(), h.lost())
}

// A probe asks one server and writes facts.
type probe struct {
	host     *host
	report   func(string)
	root     string     // what the paths of all nodes that the run creates begin with
	sessions []*session // those of the section
}

// fact reports a line, with the root shown as $.
func (p *probe) fact(format string, arguments ...any) {
	p.report(strings.ReplaceAll(fmt.Sprintf(format, arguments...), p.root, "$"))
}

// open opens a session with a timeout that is long enough for a section.
func (p *probe) open() *session {
	return p.connect(wire.ConnectRequest{TimeoutMillis: 10000})
}

// resume opens another connection for a session.
func (p *probe) resume(s *session) *session {
	return p.connect(wire.ConnectRequest{
		TimeoutMillis: 10000, SessionID: s.SessionID,
		Password: s.Password,
	})
}

// connect sends the record as new clients do, who say whether a read-only server will do.
func (p *probe) connect(request wire.ConnectRequest) *session {
	request.HasReadOnly = true
	return p.connectAsIs(request)
}

func (p *probe) connectAsIs(request wire.ConnectRequest) *session {
	if request.Password == nil {
		request.Password = make([]byte, 16)
	}
	s := connect(p.host, &request)
	p.sessions = append(p.sessions, s)
	return s
}

// createRoot creates the root of a section and returns its path.
func (p *probe) createRoot(c *session, suffix string) string {
	root := createOp(wire.OpCreate, p.root+suffix, wire.Persistent)
	root.Data = []byte{}
	c.call(root)
	return root.Path
}

// zxid returns the last transaction that the server has applied.
func (p *probe) zxid(c *session) int64 {
	return c.call(read(wire.OpExists, "/")).Zxid
}

// end closes the sessions that a section leaves open, so that none expires later and takes a zxid
// amid other facts. It does so even if the context has ended.
func (p *probe) end() {
	defer func(h *host) { p.host = h }(p.host)
	left, h := p.sessions, p.host
	p.host = h.lasting()
	for _, s := range left {
		if s.closed || h.lost() != nil {
			continue
		}
		if s.close(); !s.closed && s.SessionID != 0 {
			p.resume(s).close()
		}
	}
	p.sessions = nil
}

// sweep deletes all nodes of the run.
func (p *probe) sweep() {
	c := p.open()
	for _, name := range c.call(read(wire.OpGetChildren, "/")).Children {
		if path := "/" + name; strings.HasPrefix(path, p.root) {
			c.deleteAll(path)
		}
	}
	p.end()
}

// A Deviation is a fact that differs from what was expected.
type Deviation struct {
	Line      int // from 1
	Section   string
	Got, Want string // empty if there is no such line
}

func (d Deviation) String() string {
	return fmt.Sprintf("line %d, %s:\n  got  %s\n  want %s", d.Line, d.Section, d.Got, d.Want)
}

// Deviations compares facts line by line.
func Deviations(got, want []string) []Deviation {
	var deviations []Deviation
	heading := ""
	for i := range max(len(got), len(want)) {
		d := Deviation{Line: i + 1}
		if i < len(got) {
			d.Got = got[i]
		}
		if i < len(want) {
			d.Want = want[i]
			if name, ok := strings.CutPrefix(d.Want, "## "); ok {
				heading = name
			}
		}
		if d.Section = heading; d.Got != d.Want {
			deviations = append(deviations, d)
		}
	}
	return deviations
}
