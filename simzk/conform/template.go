package conform

import (
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// A rewriter copies requests and puts something else in the place of some fields.
type rewriter struct {
	path    func(string) string
	version func(*wire.Request) int32
	zxid    func(int64) int64
}

func (w rewriter) request(r *wire.Request) *wire.Request {
	c := *r
	c.Path = w.path(r.Path)
	if w.version != nil {
		c.Version = w.version(&c)
	}
	if r.Watches != nil {
		c.Watches = &wire.Watches{
			RelativeZxid: w.zxid(r.Watches.RelativeZxid),
			Data:         w.paths(r.Watches.Data),
			Exist:        w.paths(r.Watches.Exist),
			Child:        w.paths(r.Watches.Child),
			Persistent:   w.paths(r.Watches.Persistent),
			Recursive:    w.paths(r.Watches.Recursive),
		}
	}
	if r.Ops != nil {
		c.Ops = make([]wire.Request, len(r.Ops))
		for i := range r.Ops {
			c.Ops[i] = *w.request(&r.Ops[i])
		}
	}
	return &c
}

func (w rewriter) paths(paths []string) []string {
	if paths == nil {
		return nil
	}
	rewritten := make([]string, len(paths))
	for i, path := range paths {
		rewritten[i] = w.path(path)
	}
	return rewritten
}

// A memory is what the answers so far have told, as far as templates of requests refer to it.
type memory struct {
	versions   map[string]int32 // of data
	aversions  map[string]int32
	sequential []string // nodes, latest last
	zxid       int64    // the latest
}

func newMemory() *memory {
	return &memory{versions: map[string]int32{}, aversions: map[string]int32{}}
}

// resolve returns the request that a template stands for now.
func (m *memory) resolve(template *wire.Request) *wire.Request {
	return rewriter{
		path: m.path,
		version: func(r *wire.Request) int32 {
			switch {
			case r.Version != knownVersion:
				return r.Version
			case r.Op == wire.OpSetACL:
				return m.aversions[r.Path]
			}
			return m.versions[r.Path]
		},
		zxid: func(back int64) int64 { return max(m.zxid+back, 1) },
	}.request(template)
}

func (m *memory) path(template string) string {
	reference, ok := strings.CutPrefix(template, "?")
	if !ok {
		return template
	}
	number, below, deeper := strings.Cut(reference, "/")
	back, err := strconv.Atoi(number)
	if err != nil {
		panic("conform: the path " + template)
	}
	path := "$/a"
	if back < len(m.sequential) {
		path = m.sequential[len(m.sequential)-1-back]
	}
	if deeper {
		path += "/" + below
	}
	return path
}

// learn takes note of what the reference has answered to a request.
func (m *memory) learn(r *wire.Request, answer *wire.Reply) {
	m.zxid = max(m.zxid, answer.Zxid)
	for i := range answer.Results {
		if i < len(r.Ops) {
			result := &answer.Results[i]
			m.learnNode(&r.Ops[i], result.Path, &result.Stat)
		}
	}
	m.learnNode(r, answer.Path, &answer.Stat)
}

func (m *memory) learnNode(r *wire.Request, created string, stat *wire.Stat) {
	switch {
	case created != "" && r.Op != wire.OpSync:
		m.versions[created], m.aversions[created] = 0, 0
		if sequential(r.Flags) {
			m.sequential = append(m.sequential, created)
		}
	case stat.Czxid != 0:
		m.versions[r.Path], m.aversions[r.Path] = stat.Version, stat.Aversion
	}
}
