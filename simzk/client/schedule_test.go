package client_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client"
)

// A schedule is the steps of a run. It is drawn before the run begins.
type schedule struct {
	servers       int
	clients       int
	credentials   int // of every client before the first step
	version       simzk.Version
	extendedTypes bool // allow TTL nodes
	steps         []scheduleStep
}

// A scheduleStep is a step of a run. It is skipped if it is not possible.
type scheduleStep struct {
	kind   stepKind
	target int        // index of a client, or a server
	call   invocation // of callStep and callsStep
	second invocation // the concurrent call of callsStep
}

type stepKind string

const (
	noStep      stepKind = "nothing" // rapid shrinks steps to it
	callStep    stepKind = "call"
	callsStep   stepKind = "calls" // two at the same time
	serveStep   stepKind = "serve"
	deliverStep stepKind = "deliver"
	flowStep    stepKind = "flow" // serve and deliver everything
	tickStep    stepKind = "tick"
	waitStep    stepKind = "wait" // tick ten times
	healStep    stepKind = "heal"
	// Heal, and let the client get its session if it connects within a second.
	reconnectStep         stepKind = "return"
	cutStep               stepKind = "cut"
	loseReplyStep         stepKind = "lose-reply"
	isolateStep           stepKind = "isolate"
	crashStep             stepKind = "crash"
	disposeStep           stepKind = "dispose"
	eventsStep            stepKind = "events" // read the client's event channel
	resetStep             stepKind = "reset"
	applyStep             stepKind = "apply"
	killServerStep        stepKind = "kill-server"
	partitionServerStep   stepKind = "partition-server"
	pauseServerStep       stepKind = "pause-server"
	resumeServerStep      stepKind = "resume-server"
	stallDiskStep         stepKind = "stall-disk"
	healServerStep        stepKind = "heal-server"
	partitionInboundStep  stepKind = "partition-inbound"
	partitionOutboundStep stepKind = "partition-outbound"
	stallRequestsStep     stepKind = "stall-requests"
	stallRepliesStep      stepKind = "stall-replies"
	fastClockStep         stepKind = "fast-clock"
	slowClockStep         stepKind = "slow-clock"
	jumpClockStep         stepKind = "jump-clock"
	slowClientStep        stepKind = "slow-client"
	fastClientStep        stepKind = "fast-client"
	slowRequestsStep      stepKind = "slow-requests"
	slowRepliesStep       stepKind = "slow-replies"
	slowOpenStep          stepKind = "slow-open"
	// The server of the client's last connection.
	unreachableStep stepKind = "unreachable"
	// between the target and the next server
	partitionLinkStep       stepKind = "partition-link"
	partitionLinkOnewayStep stepKind = "partition-link-oneway" // from the target to the next server
	healLinkStep            stepKind = "heal-link"             // from the target to the next server
)

// stepKinds are the kinds of steps, repeated by their weight.
var stepKinds = func() []stepKind {
	kinds := []stepKind{noStep}
	for _, k := range [...]struct {
		kind  stepKind
		times int
	}{
		{callStep, 10},
		{callsStep, 2},
		{flowStep, 3},
		{serveStep, 4},
		{deliverStep, 4},
		{tickStep, 5},
		{cutStep, 3},
		{healStep, 3},
		{reconnectStep, 3},
		{loseReplyStep, 1},
		{waitStep, 1},
		{isolateStep, 1},
		{eventsStep, 1},
		{disposeStep, 1},
		{resetStep, 2},
		{applyStep, 3},
		{killServerStep, 1},
		{partitionServerStep, 1},
		{pauseServerStep, 1},
		{resumeServerStep, 2},
		{stallDiskStep, 2},
		{healServerStep, 3},
		{partitionInboundStep, 1},
		{partitionOutboundStep, 1},
		{stallRequestsStep, 1},
		{stallRepliesStep, 1},
		{fastClockStep, 1},
		{slowClockStep, 1},
		{jumpClockStep, 1},
		{slowClientStep, 1},
		{fastClientStep, 1},
		{slowRequestsStep, 1},
		{slowRepliesStep, 1},
		{slowOpenStep, 1},
		{unreachableStep, 1},
		{partitionLinkStep, 1},
		{partitionLinkOnewayStep, 1},
		{healLinkStep, 2},
	} {
		kinds = append(kinds, slices.Repeat([]stepKind{k.kind}, k.times)...)
	}
	return append(kinds, crashStep)
}()

const maxClients, maxServers = 3, 3

var genSchedule = rapid.Custom(func(t *rapid.T) *schedule {
	return &schedule{
		servers: rapid.SampledFrom([]int{1, 1, 1, maxServers}).Draw(t, "servers"),
		clients: rapid.IntRange(1, maxClients).Draw(t, "clients"), credentials: rapid.IntRange(0,
			2).Draw(t, "credentials"),
		version:       rapid.SampledFrom([]simzk.Version{simzk.V38, simzk.V39}).Draw(t, "version"),
		extendedTypes: rapid.Bool().Draw(t, "extended"),
		steps:         rapid.SliceOfN(genStep, 20, 90).Draw(t, "steps"),
	}
})

var genStep = rapid.Custom(func(t *rapid.T) scheduleStep {
	m := scheduleStep{
		kind:   rapid.SampledFrom(stepKinds).Draw(t, "kind"),
		target: rapid.IntRange(0, max(maxClients, maxServers)-1).Draw(t, "which"),
	}
	if m.kind == callStep || m.kind == callsStep {
		m.call = genInvocation.Draw(t, "call")
	}
	if m.kind == callsStep {
		m.second = genInvocation.Draw(t, "second")
	}
	return m
})

func (p *schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d servers, %d clients with %d credentials, release %d, extended types %t",
		p.servers, p.clients, p.credentials, p.version, p.extendedTypes)
	for i, m := range p.steps {
		fmt.Fprintf(&b, "\n%d: c%d or s%d %s", i, m.target%p.clients+1, m.target%p.servers+1,
			m.kind)
		if m.kind == callStep || m.kind == callsStep {
			b.WriteString(" " + m.call.String())
		}
		if m.kind == callsStep {
			b.WriteString(" and " + m.second.String())
		}
	}
	return b.String()
}

// An invocation is a method of the client and its arguments.
type invocation struct {
	method  string
	path    string
	data    []byte
	flags   int32
	version int32
	acl     []zk.ACL
	ttl     time.Duration
	scheme  string
	ops     []any
	delay   time.Duration // before the process makes the call
}

func (a *invocation) String() string {
	text := fmt.Sprintf("%s %q data %q flags %d version %d ACL %v ttl %v scheme %q after %v",
		a.method,
		a.path, a.data, a.flags,
		a.version, a.acl, a.ttl, a.scheme, a.delay)
	for _, op := range a.ops {
		text += fmt.Sprintf(" %T%+v", op, op)
	}
	return text
}

// The methods, repeated by their weight.
var methods = []string{
	"Get", "Exists", "Children", "Sync", "Create", "Create", "Create", "Set", "Set", "Delete",
	"Delete", "GetW", "GetW", "ExistsW",
	"ExistsW", "ChildrenW", "ChildrenW", protected, protected, protected, "AddAuth", "AddAuth",
	"GetACL", "SetACL", "Multi", "Multi",
	"CreateContainer", "CreateTTL", closing,
}

const (
	protected = "CreateProtectedEphemeralSequential"
	closing   = "Close"
)

// Most paths are of few nodes, so that calls conflict. Some are invalid for the client, the server
// or both; for /./a that depends on the operation. The last makes the search for a protected node
// panic.
var paths = slices.Concat(slices.Repeat([]string{"/a", "/b", "/a/x", "/a/y"}, 6),
	[]string{
		"/", "/a/", "/missing/x", "a", "", "//", "/a/.", "/./a", "/a\x00", "/\U0001F512",
		"/zookeeper", "/a/_c_x",
	})

var genData = rapid.SampledFrom([][]byte{nil, {}, []byte("x"), []byte("yy")})

// Mostly -1 for any version, or a version that nodes have.
var genVersion = rapid.SampledFrom([]int32{-1, -1, 0, 1, -2})

var genACL = rapid.SampledFrom([][]zk.ACL{
	zk.WorldACL(zk.PermAll), zk.WorldACL(zk.PermAll), zk.WorldACL(zk.PermAll),
	zk.WorldACL(zk.PermRead), zk.AuthACL(zk.PermAll),
	zk.DigestACL(zk.PermAll, "alice", "a"), append(zk.DigestACL(zk.PermAll, "alice", "a"),
		zk.WorldACL(zk.PermRead)...),
	nil,
	{{Perms: zk.PermAll, Scheme: "nonsense", ID: "x"}},
})

var genInvocation = rapid.Custom(func(t *rapid.T) invocation {
	a := invocation{method: rapid.SampledFrom(methods).Draw(t, "method"), version: -1}
	if a.method == closing {
		return a
	}
	a.delay = rapid.SampledFrom([]time.Duration{
		0, 0, 0, 0, 0, 0, 310 * time.Millisecond,
		time.Second,
	}).Draw(t, "delay")
	switch a.method {
	case "AddAuth":
		a.scheme = rapid.SampledFrom([]string{
			"digest", "digest", "digest", "ip",
			"nonsense",
		}).Draw(t,
			"scheme")
		a.data = rapid.SampledFrom([][]byte{[]byte("alice:a"), []byte("bob:b"), nil}).Draw(t,
			"credentials")
		return a
	case "Multi":
		a.ops = rapid.SliceOfN(genOperation, 0, 3).Draw(t, "operations")
		return a
	}
	a.path = rapid.SampledFrom(paths).Draw(t, "path")
	switch a.method {
	case "Create":
		a.flags = rapid.SampledFrom([]int32{0, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7, -1}).Draw(t, "flags")
	case "CreateContainer":
		a.flags = rapid.SampledFrom([]int32{4, 4, 0, 5, 7}).Draw(t, "flags")
	case "CreateTTL":
		a.flags = rapid.SampledFrom([]int32{5, 6, 4, 7}).Draw(t, "flags")
		a.ttl = rapid.SampledFrom([]time.Duration{
			time.Second, time.Microsecond,
			-time.Second,
		}).Draw(t,
			"ttl")
	case "Set", "Delete", "SetACL":
		a.version = genVersion.Draw(t, "version")
	}
	switch a.method {
	case "Create", "CreateContainer", "CreateTTL", protected:
		a.data, a.acl = genData.Draw(t, "data"), genACL.Draw(t, "ACL")
	case "Set":
		a.data = genData.Draw(t, "data")
	case "SetACL":
		a.acl = genACL.Draw(t, "ACL")
	}
	return a
})

// An operation of a multi; the last has an invalid type.
var genOperation = rapid.Custom(func(t *rapid.T) any {
	path := rapid.SampledFrom(paths).Draw(t, "path")
	switch rapid.SampledFrom([]string{
		"check", "create", "create", "set", "delete",
		"unknown",
	}).Draw(t,
		"operation") {
	case "check":
		return &zk.CheckVersionRequest{Path: path, Version: genVersion.Draw(t, "version")}
	case "create":
		return &zk.CreateRequest{
			Path: path, Data: genData.Draw(t, "data"), Acl: genACL.Draw(t, "ACL"),
			Flags: rapid.SampledFrom([]int32{0, 0, 0, 1, 2, 3, 4, 5, 7}).Draw(t, "flags"),
		}
	case "set":
		return &zk.SetDataRequest{
			Path: path, Data: genData.Draw(t, "data"),
			Version: genVersion.Draw(t, "version"),
		}
	case "delete":
		return &zk.DeleteRequest{Path: path, Version: genVersion.Draw(t, "version")}
	}
	return zk.DeleteRequest{Path: path}
})

// invoke calls the client and returns the result as text, and the channel of the watch that the
// call set.
func (a *invocation) invoke(c client.Client) (text string, watch <-chan zk.Event) {
	var results []any
	var err error
	switch a.method {
	case "Create", "CreateContainer", "CreateTTL", protected, "Sync":
		var path string
		path, err = a.invokeForPath(c)
		results = []any{path}
	case "Delete":
		err = c.Delete(a.path, a.version)
	case "Get", "GetW":
		var data []byte
		var stat *zk.Stat
		if a.method == "Get" {
			data, stat, err = c.Get(a.path)
		} else {
			data, stat, watch, err = c.GetW(a.path)
		}
		results = []any{data, stat}
	case "Exists", "ExistsW":
		var exists bool
		var stat *zk.Stat
		if a.method == "Exists" {
			exists, stat, err = c.Exists(a.path)
		} else {
			exists, stat, watch, err = c.ExistsW(a.path)
		}
		results = []any{exists, stat}
	case "Children", "ChildrenW":
		var names []string
		var stat *zk.Stat
		if a.method == "Children" {
			names, stat, err = c.Children(a.path)
		} else {
			names, stat, watch, err = c.ChildrenW(a.path)
		}
		results = []any{names, stat}
	case "Set", "SetACL":
		var stat *zk.Stat
		if a.method == "Set" {
			stat, err = c.Set(a.path, a.data, a.version)
		} else {
			stat, err = c.SetACL(a.path, a.acl, a.version)
		}
		results = []any{stat}
	case "GetACL":
		acl, stat, e := c.GetACL(a.path)
		results, err = []any{acl, stat}, e
	case "AddAuth":
		err = c.AddAuth(a.scheme, a.data)
	case "Multi":
		var responses []zk.MultiResponse
		responses, err = c.Multi(a.ops...)
		results = multiText(responses)
	case closing:
		c.Close()
	}
	for _, r := range results {
		if stat, ok := r.(*zk.Stat); ok && stat != nil {
			r = *stat
		}
		text += fmt.Sprintf("%#v, ", r)
	}
	return fmt.Sprintf("%s%s, watch %t", text, errorText(err), watch != nil), watch
}

// invokeForPath calls a method that returns a path.
func (a *invocation) invokeForPath(c client.Client) (string, error) {
	switch a.method {
	case "Create":
		return c.Create(a.path, a.data, a.flags, a.acl)
	case "CreateContainer":
		return c.CreateContainer(a.path, a.data, a.flags, a.acl)
	case "CreateTTL":
		return c.CreateTTL(a.path, a.data, a.flags, a.acl, a.ttl)
	case protected:
		return c.CreateProtectedEphemeralSequential(a.path, a.data, a.acl)
	}
	return c.Sync(a.path)
}

func multiText(responses []zk.MultiResponse) []any {
	results := []any{responses == nil}
	for _, r := range responses {
		results = append(results, r.String, r.Stat, errorText(r.Error))
	}
	return results
}

// clientErrors are the errors that the client library exports.
var clientErrors = []error{
	zk.ErrConnectionClosed, zk.ErrUnknown, zk.ErrAPIError, zk.ErrNoNode, zk.ErrNoAuth,
	zk.ErrBadVersion,
	zk.ErrNoChildrenForEphemerals, zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrSessionExpired,
	zk.ErrInvalidACL, zk.ErrInvalidFlags,
	zk.ErrAuthFailed, zk.ErrClosing, zk.ErrNothing, zk.ErrSessionMoved, zk.ErrReconfigDisabled,
	zk.ErrBadArguments,
	zk.ErrNoServer, zk.ErrInvalidPath, zk.ErrUnhandledFieldType, zk.ErrPtrExpected,
	zk.ErrShortBuffer,
}

// errorText describes everything that a program can observe of an error.
func errorText(err error) string {
	if err == nil {
		return "no error"
	}
	text := fmt.Sprintf("error %q", err)
	for i, k := range clientErrors {
		switch {
		case err == k:
			text += fmt.Sprintf(" == known[%d]", i)
		case errors.Is(err, k):
			text += fmt.Sprintf(" is known[%d]", i)
		}
	}
	return text
}
