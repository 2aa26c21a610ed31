// Package conform checks whether a server of ZooKeeper's protocol behaves as ZooKeeper does. It
// uses only the server's address, so real and simulated servers are tested alike. [Facts] sends a
// fixed list of requests, whose results are on file for releases of ZooKeeper. [Differ] sends the
// same random requests to two servers and compares the results.
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

// Versions returns the releases of ZooKeeper whose facts are on file.
func Versions() []string {
	return []string{"3.8.0", "3.9.4"}
}

// Golden returns the facts of a release of ZooKeeper: of a single server with a tick of two
// seconds, extended types enabled and default limits. The sections behind the corner cases are not
// on file for every release.
func Golden(version string) ([]string, error) {
	if !slices.Contains(Versions(), version) {
		return nil, fmt.Errorf("no facts of ZooKeeper %s, only of %s", version,
			strings.Join(Versions(), " and "))
	}
	text, err := golden.ReadFile("testdata/facts-" + version + ".txt")
	if err != nil {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), nil
}

// A section is a group of facts.
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
	{"corner cases", (*probe).cornerCases},
	{"ends", (*probe).ends},
	{"quotas", (*probe).quotas},
	{"trace mask", (*probe).traceMask},
	{"relative paths", (*probe).relativePaths},
}

// Facts sends a fixed list of requests to the server at the address and reports the results, one
// fact a line, each section after a heading. Facts contain nothing that differs between runs:
//   - paths are relative to a root that the run creates and deletes
//   - zxids are relative to each other
//   - session ids and times are omitted
//
// No other client may write to the server during the run. The server must not hold valuable data:
// release 3.8.0 logs one of the requests in a form that prevents a restart with that log.
//
// Malformed or missing replies are not errors; the facts show them. The error is a [ServerError] if
// the server cannot be reached or stops responding, or the context's error.
func Facts(ctx context.Context, address string, report func(fact string)) error {
	h := newHost(ctx, address)
	defer h.fail(nil)
	p := &probe{host: h, report: report}
	first := p.open()
	if lost := h.err(); lost != nil {
		return lost
	}
	if first.err != nil {
		return cmp.Or(ctx.Err(),
			error(&ServerError{address, fmt.Errorf("no session: %w", first.err)}))
	}
	// Session ids are unique, so a root named after one is new.
	p.root = fmt.Sprintf("/facts-%x", first.SessionID)
	p.closeSessions()
	for _, s := range sections {
		if h.ctx.Err() != nil {
			break
		}
		report("## " + s.name)
		s.write(p)
		p.closeSessions()
	}
	if lost := h.err(); lost != nil {
		return lost
	}
	p.host = h.withoutCancel()
	p.deleteNodes()
	return cmp.Or(ctx.Err(), h.err())
}

// A probe tests one server and reports facts.
type probe struct {
	host     *host
	report   func(string)
	root     string     // prefix of the paths of all created nodes
	sessions []*session // of the current section
}

// fact reports a line in which the root is replaced by $.
func (p *probe) fact(format string, arguments ...any) {
	p.report(strings.ReplaceAll(fmt.Sprintf(format, arguments...), p.root, "$"))
}

// open opens a session whose timeout exceeds the duration of a section.
func (p *probe) open() *session {
	return p.connect(wire.ConnectRequest{TimeoutMillis: 10000})
}

// resume opens another connection for the session.
func (p *probe) resume(s *session) *session {
	return p.connect(wire.ConnectRequest{
		TimeoutMillis: 10000, SessionID: s.SessionID,
		Password: s.Password,
	})
}

// connect sends the first record of a new client, which includes the readOnly byte.
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

// zxid returns the last transaction applied by the server.
func (p *probe) zxid(c *session) int64 {
	return c.call(read(wire.OpExists, "/")).Zxid
}

// closeSessions closes the section's open sessions, so that none expires later and consumes a zxid
// during other facts. It runs even if the context has ended.
func (p *probe) closeSessions() {
	defer func(h *host) { p.host = h }(p.host)
	open, h := p.sessions, p.host
	p.host = h.withoutCancel()
	for _, s := range open {
		if s.closed || h.err() != nil {
			continue
		}
		if s.close(); !s.closed && s.SessionID != 0 {
			p.resume(s).close()
		}
	}
	p.sessions = nil
}

// deleteNodes deletes all nodes of the run.
func (p *probe) deleteNodes() {
	c := p.open()
	for _, name := range c.call(read(wire.OpGetChildren, "/")).Children {
		if path := "/" + name; strings.HasPrefix(path, p.root) {
			c.deleteAll(path)
		}
	}
	p.closeSessions()
}

// A Deviation is a fact that differs from the expected one.
type Deviation struct {
	Line      int // from 1
	Section   string
	Got, Want string // empty if the line is missing
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
