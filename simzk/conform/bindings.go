package conform

import (
	"strconv"
	"strings"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A rewriter copies requests and translates some of their fields. version may be nil.
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

// bindings are the values from earlier replies that templates of requests refer to.
type bindings struct {
	versions   map[string]int32 // of the data, by path
	aversions  map[string]int32
	sequential []string // paths of sequential nodes, latest last
	zxid       int64    // the latest zxid
}

func newBindings() *bindings {
	return &bindings{versions: map[string]int32{}, aversions: map[string]int32{}}
}

// resolve instantiates a template with the current bindings.
func (b *bindings) resolve(template *wire.Request) *wire.Request {
	return rewriter{
		path: b.path,
		version: func(r *wire.Request) int32 {
			switch {
			case r.Version != operation.KnownVersion:
				return r.Version
			case r.Op == wire.OpSetACL:
				return b.aversions[r.Path]
			}
			return b.versions[r.Path]
		},
		zxid: func(back int64) int64 { return max(b.zxid+back, 1) },
	}.request(template)
}

func (b *bindings) path(template string) string {
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
	if back < len(b.sequential) {
		path = b.sequential[len(b.sequential)-1-back]
	}
	if deeper {
		path += "/" + below
	}
	return path
}

// update records the reference's reply to a request.
func (b *bindings) update(r *wire.Request, answer *wire.Reply) {
	b.zxid = max(b.zxid, answer.Zxid)
	for i := range answer.Results {
		if i < len(r.Ops) {
			result := &answer.Results[i]
			b.updateNode(&r.Ops[i], result.Path, &result.Stat)
		}
	}
	b.updateNode(r, answer.Path, &answer.Stat)
}

func (b *bindings) updateNode(r *wire.Request, created string, stat *wire.Stat) {
	switch {
	case created != "" && r.Op != wire.OpSync:
		b.versions[created], b.aversions[created] = 0, 0
		if operation.Sequential(r) {
			b.sequential = append(b.sequential, created)
		}
	case stat.Czxid != 0:
		b.versions[r.Path], b.aversions[r.Path] = stat.Version, stat.Aversion
	}
}
