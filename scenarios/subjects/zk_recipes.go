package subjects

import (
	"context"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client"
)

// zkRecipeClaims are what two published introductions to ZooKeeper locks say of the algorithm of
// [ZKPredecessor]: one process at a time has the lock, that of the first node; no event is lost; a
// crash or a lost session releases the lock; and a release wakes one waiter. They do not say what a
// holder learns of its loss.
var zkRecipeClaims = []history.Property{
	history.ServerMutualExclusion, history.ClientMutualExclusion, history.FIFO,
	history.NoLostWatch, history.Progress, history.NoStarvation, history.NoLivelock,
	history.NoLeakedNodes, history.NoHerd, history.Linearizable,
}

// ZKHerd is the first algorithm of two published introductions to ZooKeeper locks, exactly as
// written: create an ephemeral sequential node; list the nodes with a watch; the first node has the
// lock; otherwise wait for a change of the children and list again; delete the node to release the
// lock. It differs from [Herd] in what the introductions do not mention: lost connections. It
// leaves the node of a failed attempt behind, and does not repeat a failed release.
//
// It claims what [ZKPredecessor] does, except that it wakes a herd, as they say.
func ZKHerd() scenarios.Subject {
	s := zkRecipe("zk-herd",
		"broken: the published algorithm as written: all wait for a change of the children",
		(*zkRecipeLock).nextChange)
	s.Claims = without(s.Claims, history.NoHerd)
	s.Limits.WakeUps = history.Unbounded
	return s
}

// ZKPredecessor is the adjusted algorithm of the same introductions: each contender watches the
// node just before its own. It differs from [Textbook] as [ZKHerd] does from [Herd].
//
// The introductions set the watch by a read, and do not say what happens if the node is gone by
// then. Here the contender lists again, as it does after an event.
func ZKPredecessor() scenarios.Subject {
	return zkRecipe("zk-predecessor",
		"broken: the adjusted algorithm as written: each waits for the node before its own",
		(*zkRecipeLock).nextPredecessor)
}

func zkRecipe(name, summary string, next nextFunc) scenarios.Subject {
	return scenarios.Subject{
		Name: name, Summary: summary, Claims: zkRecipeClaims, Limits: recipeLimits,
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			l := &zkRecipeLock{client: p.Client, directory: p.Directory, next: next}
			return scenarios.LockerFunc(l.lock), nil
		},
	}
}

// A nextFunc lists the children of the directory. It returns no events if the lock's own node is
// the first, else those of a watch.
type nextFunc = func(*zkRecipeLock) (<-chan zk.Event, error)

type zkRecipeLock struct {
	client    client.Client
	directory string
	node      string
	next      nextFunc
}

func (l *zkRecipeLock) lock(ctx context.Context) (*scenarios.Hold, error) {
	var err error
	l.node, err = l.client.Create(l.directory+"/lock-", nil, zk.FlagEphemeralSequential, openACL)
	if err != nil {
		return nil, err
	}
	for {
		events, err := l.next(l)
		if err != nil {
			return nil, err
		}
		if events == nil {
			return &scenarios.Hold{Node: l.node, Unlock: l.unlock}, nil
		}
		select {
		case <-events:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (l *zkRecipeLock) unlock(context.Context) error { return l.client.Delete(l.node, -1) }

// nextChange sets a watch on the children with the listing itself, so that no change is missed. If
// the lock's own node is gone, it is never the first, and the contender waits on.
func (l *zkRecipeLock) nextChange() (<-chan zk.Event, error) {
	names, _, events, err := l.client.ChildrenW(l.directory)
	if before, own := l.find(names); err != nil || own && before == "" {
		return nil, err
	}
	return events, nil
}

// nextPredecessor sets a watch on the node just before the lock's own. If there is none and the
// lock's own node is gone, there is nothing to wait for, and the attempt fails.
func (l *zkRecipeLock) nextPredecessor() (<-chan zk.Event, error) {
	for {
		names, _, err := l.client.Children(l.directory)
		if err != nil {
			return nil, err
		}
		before, own := l.find(names)
		switch {
		case before == "" && !own:
			return nil, errNodeGone
		case before == "":
			return nil, nil
		}
		_, _, events, err := l.client.GetW(l.directory + "/" + before)
		if err != zk.ErrNoNode {
			return events, err
		}
	}
}

// find returns the last name before that of the lock's own node, or "", and whether that is among
// them.
func (l *zkRecipeLock) find(names []string) (before string, found bool) {
	own := l.node[strings.LastIndexByte(l.node, '/')+1:]
	for _, name := range names {
		switch {
		case name == own:
			found = true
		case name < own && name > before:
			before = name
		}
	}
	return before, found
}
