package tree_test

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A modelNode is a node of the reference model: what was written and when, without derived state.
type modelNode struct {
	data                string
	acl                 []wire.ACL
	czxid, mzxid, pzxid int64
	ctime, mtime        int64
	version, aversion   int32
	owner               int64
	container           bool
	ttl                 int64 // 0 if the node has none
	serial              int   // order of creation, within a multi too
	sequence            int32 // the number that the next sequential child gets
	childChanges        int32 // number of creations and deletions of children
	sequenceSet         bool  // SetSequence was called, so childChanges is invalid
}

// A model is a naive reference model of a tree. It computes all derived state on demand.
type model struct {
	rules  tree.Rules
	nodes  map[string]*modelNode
	serial int
}

// newModel returns the model of a new tree. ZooKeeper's own nodes are children without a creation.
func newModel(rules tree.Rules) *model {
	return &model{rules: rules, nodes: map[string]*modelNode{
		"/":                {acl: tree.Open, childChanges: -1},
		"/zookeeper":       {acl: tree.Open, childChanges: -2},
		"/zookeeper/quota": {acl: tree.Open},
		"/zookeeper/config": {
			acl:      []wire.ACL{{Perms: wire.PermRead, Scheme: "world", ID: "anyone"}},
			aversion: -1,
		},
	}}
}

func (m *model) clone() *model {
	clone := &model{rules: m.rules, nodes: maps.Clone(m.nodes), serial: m.serial}
	for path, n := range clone.nodes {
		node := *n
		clone.nodes[path] = &node
	}
	return clone
}

// split returns the path of the parent and the name.
func split(path string) (parent, name string) {
	i := strings.LastIndex(path, "/")
	return path[:max(i, 1)], path[i+1:]
}

func (m *model) children(path string) []string {
	var names []string
	for other := range m.nodes {
		if parent, name := split(other); other != "/" && parent == path {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (m *model) descendants(path string) int {
	count := 0
	for other := range m.nodes {
		if other != "/" && strings.HasPrefix(other, strings.TrimSuffix(path, "/")+"/") {
			count++
		}
	}
	return count
}

func (m *model) ephemerals(owner int64) []string {
	var paths []string
	for path, n := range m.nodes {
		if n.owner == owner {
			paths = append(paths, path)
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return m.nodes[a].serial - m.nodes[b].serial })
	return paths
}

func (m *model) disposable(now int64) []string {
	var paths []string
	for path, n := range m.nodes {
		emptied, expired := n.container && n.sequence > 0, n.ttl > 0 && n.mtime+n.ttl < now
		if (emptied || expired) && len(m.children(path)) == 0 {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// stat returns the stat that a client sees. After SetSequence, cversion is derived from the
// sequence.
func (m *model) stat(path string) wire.Stat {
	n := m.nodes[path]
	children := int32(len(m.children(path)))
	cversion := n.childChanges
	if n.sequenceSet {
		cversion = 2*n.sequence - children
	}
	return wire.Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Pzxid: n.pzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version:  n.version,
		Cversion: cversion, Aversion: n.aversion, EphemeralOwner: n.owner,
		DataLength:  int32(len(n.data)),
		NumChildren: children,
	}
}

// apply applies a write and returns the result that the tree should return.
func (m *model) apply(w *tree.Write) tree.Result {
	switch w.Op {
	case wire.OpDelete, wire.OpDeleteContainer:
		return m.delete(w)
	case wire.OpSetData, wire.OpSetACL, wire.OpCheck:
		return m.change(w)
	case wire.OpMulti:
		return m.multi(w)
	case wire.OpCloseSession:
		paths := m.ephemerals(w.Session)
		for _, path := range paths {
			m.remove(path, w.Zxid)
		}
		return tree.Result{}
	}
	return m.create(w)
}

// A mode is the decoded flags of a create.
type mode struct{ ephemeral, sequential, timed bool }

var modes = map[int32]mode{
	wire.Persistent:           {},
	wire.Ephemeral:            {ephemeral: true},
	wire.PersistentSequential: {sequential: true},
	wire.EphemeralSequential:  {ephemeral: true, sequential: true},
	wire.Container:            {},
	wire.PersistentTTL:        {timed: true},
	wire.PersistentSeqTTL:     {timed: true, sequential: true},
}

// checkFlags returns the error of invalid flags of a create.
func (m *model) checkFlags(w *tree.Write) wire.Code {
	mode, known := modes[w.Flags]
	switch {
	case !known:
		return wire.BadArguments
	case mode.timed && !m.rules.ExtendedTypes:
		return wire.Unimplemented
	case mode.timed != (w.Op == wire.OpCreateTTL), mode.timed &&
		(w.TTLMillis < 1 || w.TTLMillis >= 1<<40):
		return wire.BadArguments
	}
	return wire.OK
}

func (m *model) create(w *tree.Write) tree.Result {
	if code := m.checkFlags(w); code != wire.OK {
		return tree.Result{Code: code}
	}
	if !strings.Contains(w.Path, "/") || strings.Contains(w.Path, "\x00") {
		return tree.Result{Code: wire.BadArguments}
	}
	acl, ok := expandACL(w.ACL, w.Identities)
	if !ok {
		return tree.Result{Code: wire.InvalidACL}
	}
	parentPath, _ := split(w.Path)
	parent := m.nodes[parentPath]
	switch {
	case parent == nil:
		return tree.Result{Code: wire.NoNode}
	case !allowed(parent.acl, w.Identities, wire.PermCreate):
		return tree.Result{Code: wire.NoAuth}
	}
	path, mode := w.Path, modes[w.Flags]
	if mode.sequential {
		path += fmt.Sprintf("%010d", parent.sequence)
	}
	switch {
	case !validPath(path):
		return tree.Result{Code: wire.BadArguments}
	case m.nodes[path] != nil:
		return tree.Result{Code: wire.NodeExists}
	case parent.owner != 0:
		return tree.Result{Code: wire.NoChildrenForEphemerals}
	}
	m.serial++
	n := &modelNode{
		data: string(w.Data), acl: acl, czxid: w.Zxid, mzxid: w.Zxid, pzxid: w.Zxid,
		ctime: w.TimeMillis,
		mtime: w.TimeMillis, serial: m.serial, container: w.Op == wire.OpCreateContainer,
	}
	if mode.ephemeral && !n.container {
		n.owner = w.Session
	}
	if w.Op == wire.OpCreateTTL {
		n.ttl = w.TTLMillis
	}
	m.nodes[path] = n
	parent.childChanges++
	if parent.sequence < math.MaxInt32 || m.rules.SequenceWraps {
		parent.sequence++
		parent.pzxid = w.Zxid
	}
	return tree.Result{Path: path, Stat: m.stat(path)}
}

func (m *model) delete(w *tree.Write) tree.Result {
	special := []string{"/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"}
	if !strings.Contains(w.Path, "/") || strings.Contains(w.Path, "\x00") ||
		slices.Contains(special, w.Path) {
		return tree.Result{Code: wire.BadArguments}
	}
	parentPath, _ := split(w.Path)
	parent, n, children := m.nodes[parentPath], m.nodes[w.Path], m.children(w.Path)
	byServer := w.Op == wire.OpDeleteContainer
	switch {
	case parent == nil:
		return tree.Result{Code: wire.NoNode}
	case !byServer && !allowed(parent.acl, w.Identities, wire.PermDelete):
		return tree.Result{Code: wire.NoAuth}
	case n == nil:
		return tree.Result{Code: wire.NoNode}
	case !byServer && w.Version != -1 && w.Version != n.version:
		return tree.Result{Code: wire.BadVersion}
	case len(children) > 0:
		return tree.Result{Code: wire.NotEmpty}
	case byServer && n.owner != 0:
		return tree.Result{Code: wire.BadVersion}
	}
	stat := m.stat(w.Path)
	m.remove(w.Path, w.Zxid)
	return tree.Result{Path: w.Path, Stat: stat}
}

func (m *model) remove(path string, zxid int64) {
	delete(m.nodes, path)
	parent, _ := split(path)
	m.nodes[parent].childChanges++
	m.nodes[parent].pzxid = zxid
}

// change applies a write to one node: setData, setACL or check.
func (m *model) change(w *tree.Write) tree.Result {
	if !validPath(w.Path) {
		return tree.Result{Code: wire.BadArguments}
	}
	acl, ok := expandACL(w.ACL, w.Identities)
	if w.Op == wire.OpSetACL && !ok {
		return tree.Result{Code: wire.InvalidACL}
	}
	n := m.nodes[w.Path]
	if n == nil {
		return tree.Result{Code: wire.NoNode}
	}
	perm, version := wire.PermRead, n.version
	switch w.Op {
	case wire.OpSetData:
		perm = wire.PermWrite
	case wire.OpSetACL:
		perm, version = wire.PermAdmin, n.aversion
	}
	switch {
	case !allowed(n.acl, w.Identities, perm):
		return tree.Result{Code: wire.NoAuth}
	case w.Version != -1 && w.Version != version:
		return tree.Result{Code: wire.BadVersion}
	}
	switch w.Op {
	case wire.OpSetData:
		n.data, n.mzxid, n.mtime = string(w.Data), w.Zxid, w.TimeMillis
		n.version++
	case wire.OpSetACL:
		n.acl = acl
		n.aversion++
	}
	return tree.Result{Path: w.Path, Stat: m.stat(w.Path)}
}

// creates are the types of the create operations.
var creates = []wire.Op{wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL}

// multi applies the operations to a copy of the model, which replaces the model if all of them
// succeed.
func (m *model) multi(w *tree.Write) tree.Result {
	trial := m.clone()
	results := make([]wire.Result, len(w.Ops))
	for i := range w.Ops {
		step := opWrite(&w.Ops[i], w)
		mode, known := modes[step.Flags]
		switch {
		case mode.timed && step.Op != wire.OpCreateTTL && slices.Contains(creates, step.Op):
			return tree.Result{Code: wire.MarshallingError}
		case slices.Contains(creates, step.Op) && step.Flags == wire.Container:
			step.Op = wire.OpCreateContainer
		case step.Op == wire.OpCreateContainer && known,
			step.Op == wire.OpCreateTTL && known && !mode.timed:
			step.Op = wire.OpCreate
		}
		result := trial.apply(step)
		if result.Code != wire.OK {
			for j := range results {
				results[j] = wire.Result{Op: wire.OpError}
				if j > i {
					results[j].Code = wire.RuntimeInconsistency
				}
			}
			results[i].Code = result.Code
			return tree.Result{Code: result.Code, Results: results}
		}
		results[i] = wire.Result{Op: step.Op, Path: result.Path, Stat: result.Stat}
	}
	*m = *trial
	return tree.Result{Results: results}
}

// opWrite returns the write of one operation of a multi.
func opWrite(r *wire.Request, multi *tree.Write) *tree.Write {
	w := write(r)
	w.Zxid, w.TimeMillis, w.Session, w.Identities = multi.Zxid, multi.TimeMillis, multi.Session,
		multi.Identities
	return w
}

// write returns the write of a request.
func write(r *wire.Request) *tree.Write {
	return &tree.Write{
		Op: r.Op, Path: r.Path, Data: r.Data, ACL: r.ACL, Flags: r.Flags, Version: r.Version,
		TTLMillis: r.TTLMillis, Ops: r.Ops,
	}
}

var (
	wellFormed = regexp.MustCompile(`^/$|^(/[^/\x00-\x1f\x7f-\x{9f}\x{e000}-\x{f8ff}\x{fff0}-\x{10ffff}]+)+$`)
	dots       = regexp.MustCompile(`/\.\.?(/|$)`)
)

func validPath(path string) bool { return wellFormed.MatchString(path) && !dots.MatchString(path) }

// allowed reports whether one of the identities has one of the permissions.
func allowed(acl []wire.ACL, ids []wire.Identity, perms int32) bool {
	if slices.Contains(ids, tree.Super) {
		return true
	}
	return slices.ContainsFunc(acl, func(a wire.ACL) bool {
		return a.Perms&perms != 0 &&
			(a.Scheme == "world" || slices.ContainsFunc(ids, func(id wire.Identity) bool {
				if a.Scheme == "ip" && id.Scheme == "ip" {
					return inNetwork(id.ID, a.ID)
				}
				return id == wire.Identity{Scheme: a.Scheme, ID: a.ID}
			}))
	})
}

// inNetwork reports whether an address equals the other or is in its network.
func inNetwork(address, other string) bool {
	network, err := netip.ParsePrefix(other)
	if err != nil {
		return address == other
	}
	return network.Contains(netip.MustParseAddr(address))
}

// expandACL returns the ACL that a node gets, or false if the ACL is refused.
func expandACL(acl []wire.ACL, ids []wire.Identity) ([]wire.ACL, bool) {
	var expanded []wire.ACL
	for i, a := range acl {
		switch {
		case slices.Index(acl, a) < i: // A repeated entry.
		case a.Scheme == "auth":
			digests := slices.DeleteFunc(slices.Clone(ids),
				func(id wire.Identity) bool { return id.Scheme != "digest" })
			if len(digests) == 0 {
				return nil, false
			}
			for _, id := range digests {
				expanded = append(expanded, wire.ACL{Perms: a.Perms, Scheme: id.Scheme, ID: id.ID})
			}
		case !slices.Contains(knownIdentities, wire.Identity{Scheme: a.Scheme, ID: a.ID}):
			return nil, false
		default:
			expanded = append(expanded, a)
		}
	}
	return expanded, len(expanded) > 0
}

// knownIdentities are the identities of the property tests that an ACL may name.
var knownIdentities = []wire.Identity{
	{Scheme: "world", ID: "anyone"},
	{Scheme: "digest", ID: "alice:a"},
	{Scheme: "digest", ID: "bob:b"},
	{Scheme: "ip", ID: "10.1.2.3"},
	{Scheme: "ip", ID: "10.0.0.0/8"},
}

// masked returns the ACL without the digests of passwords.
func masked(acl []wire.ACL) []wire.ACL {
	shown := slices.Clone(acl)
	for i := range shown {
		if shown[i].Scheme == "digest" {
			shown[i].ID = regexp.MustCompile(":.*").ReplaceAllString(shown[i].ID, ":x")
		}
	}
	return shown
}
