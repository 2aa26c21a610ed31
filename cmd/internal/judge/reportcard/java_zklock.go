package reportcard

import (
	"maps"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
)

// The ways in which ZkLock breaks exclusion, by the numbers of docs/track-record.md.
const (
	NoRecheckWay     = "D1 a woken waiter does not list again"
	FailedAttemptWay = "D3 a failed attempt counts as an entry"
	NegativeCountWay = "D4 an unlock too many counts as an entry"
	SoleNodeWay      = "D5 the only node counts as the own one"
	LostReentryWay   = "D9 a lost lock is re-entered"
	LostNodeWay      = "D11 the own node is gone when the lock is granted"
	unknownWay       = "another way"
)

// A zkLockReader follows the processes of a run of ZkLock.
type zkLockReader struct {
	live      map[string]bool // nodes
	processes map[int32]*zkLockProcess
	ways      map[string]bool // in which a process came to believe that it has another's lock
}

type zkLockProcess struct {
	node     string   // of the current attempt
	listed   []string // by the last listing that the server has handled
	woken    bool     // since it has listed
	lastFail string   // of the last call that failed
	inside   bool     // from the return of lock to the call of unlock
	way      string   // how it was granted the lock, "" if it has the first node
}

func (r *zkLockReader) process(number int32) *zkLockProcess {
	if r.processes[number] == nil {
		r.processes[number] = new(zkLockProcess)
	}
	return r.processes[number]
}

// overlaps adds the ways in which two processes hold the lock: one by right, the other not.
func (r *zkLockReader) overlaps(granted *zkLockProcess) {
	rightful := func(p *zkLockProcess) bool { return p.way == "" && r.live[p.node] }
	for _, p := range r.processes {
		switch {
		case p == granted || !p.inside:
		case rightful(p) && granted.way != "":
			r.ways[granted.way] = true
		case rightful(granted) && p.way != "":
			r.ways[p.way] = true
		}
	}
}

// grant returns how a process was granted the lock, or "" if it has the first node.
func (r *zkLockReader) grant(p *zkLockProcess) string {
	first := p.node != ""
	for node := range r.live {
		first = first && p.node <= node
	}
	switch {
	case p.node == "" && strings.Contains(p.lastFail, "解锁异常"):
		return NegativeCountWay
	case p.node == "" && p.lastFail != "":
		return FailedAttemptWay
	case p.woken && !first:
		return NoRecheckWay
	case len(p.listed) == 1 && p.listed[0] != p.node:
		return SoleNodeWay
	case first && r.live[p.node]:
		return ""
	case !r.live[p.node]:
		return LostNodeWay
	}
	return unknownWay
}

func (r *zkLockReader) read(e *history.Event) {
	p := r.process(e.Process)
	switch e.Kind {
	case history.NodeCreated:
		r.live[e.Path], p.node = true, e.Path
	case history.NodeDeleted:
		delete(r.live, e.Path)
	case history.LockCall:
		p.node, p.listed, p.woken = "", nil, false
	case history.Serve:
		if e.Op == "children" {
			p.listed, p.woken = slices.Collect(maps.Keys(r.live)), false
		}
	case history.WatchEvent:
		p.woken = true
	case history.LockReturn:
		if e.Err != "" {
			p.lastFail = e.Err
			return
		}
		p.inside, p.way = true, r.grant(p)
		r.overlaps(p)
	case history.ReenterReturn:
		if e.Err == "" && p.way == "" && !r.live[p.node] {
			p.way = LostReentryWay
			r.overlaps(p)
		}
	case history.UnlockCall, history.Crashed:
		p.inside = false
	case history.UnlockReturn:
		p.lastFail = e.Err
	}
}

// JavaZKLockWays returns the ways in which exclusion breaks in a run of [subjects.JavaZKLock] or
// [subjects.JavaZKLockFinally], in order.
func JavaZKLockWays(events []history.Event) []string {
	r := &zkLockReader{
		live: make(map[string]bool), processes: make(map[int32]*zkLockProcess),
		ways: make(map[string]bool),
	}
	for i := range events {
		r.read(&events[i])
	}
	return slices.Sorted(maps.Keys(r.ways))
}
