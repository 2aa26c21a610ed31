package subjects

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk"
)

// recipeClaims is what the recipe promises when it has no defect. It tells nobody of a lost session, so it promises
// nothing about what processes believe, nor that the lock is linearizable when sessions expire.
var recipeClaims = []history.Property{
	history.ServedExclusion, history.FIFO, history.Watch, history.Progress, history.NoOrphan,
}

// Textbook is the lock recipe of the ZooKeeper documentation without a defect.
func Textbook() scenarios.Subject {
	return recipeSubject("textbook", "ZooKeeper's lock recipe as documented: each contender watches the one before it", recipe{})
}

// Herd watches all children: every release wakes every contender. It is correct all the same.
func Herd() scenarios.Subject {
	return recipeSubject("herd", "the recipe, but every contender watches all others: correct, not herd-free", recipe{watchAll: true})
}

// NoRecheck takes the lock as soon as its predecessor is gone, even where that was not the holder. The defect stands
// in a published Java lock on Curator, which waits on a latch and returns true.
func NoRecheck() scenarios.Subject {
	return recipeSubject("no-recheck", "broken: a contender that is woken does not look again whether it is the first", recipe{noRecheck: true})
}

// ExistsThenWait waits on a watch that it has set with exists on a node that is gone by then. The defect stands in
// the WriteLock recipe that comes with ZooKeeper, which returns from lock() in that case with nobody to call it again.
func ExistsThenWait() scenarios.Subject {
	return recipeSubject("exists-then-wait", "broken: waits for the end of a predecessor that is gone already", recipe{existsThenWait: true})
}

// A recipe is ZooKeeper's lock recipe with a switch for each defect.
type recipe struct {
	watchAll       bool
	noRecheck      bool
	existsThenWait bool
}

func recipeSubject(name, summary string, defects recipe) scenarios.Subject {
	return scenarios.Subject{
		Name: name, Summary: summary, Claims: recipeClaims,
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			r := &recipeLock{recipe: defects, client: p.Client, directory: p.Directory}
			return scenarios.LockerFunc(r.lock), nil
		},
	}
}

// recipeLock is one process's handle on a lock that follows the recipe.
type recipeLock struct {
	recipe
	client    *simzk.Conn
	directory string
	node      string
}

// recipePause is the time between two tries of a request that failed.
const recipePause = 200 * time.Millisecond

// lock makes a node and waits for its turn. The recipe has no notion of sessions: one that is lost ends the attempt.
func (r *recipeLock) lock(context.Context) (*scenarios.Hold, error) {
	session := r.client.SessionID()
	node, err := r.client.CreateProtectedEphemeralSequential(r.directory+"/n-", nil, nil)
	if err != nil {
		r.sweep("")
		return nil, err
	}
	r.node = node
	for {
		ahead, err := r.ahead()
		if err != nil {
			r.sweep(node)
			return nil, err
		}
		if len(ahead) == 0 {
			if r.client.SessionID() != session {
				r.sweep(node)
				return nil, zk.ErrSessionExpired
			}
			return &scenarios.Hold{Node: node, Unlock: func(context.Context) error { r.sweep(node); return nil }}, nil
		}
		woken, err := r.wait(ahead)
		if err != nil {
			r.sweep(node)
			return nil, err
		}
		if woken && r.noRecheck {
			return &scenarios.Hold{Node: node, Unlock: func(context.Context) error { r.sweep(node); return nil }}, nil
		}
	}
}

// errNodeGone is what a contender finds that outlived its node.
var errNodeGone = errors.New("the contender's node is gone")

// ahead returns the contenders before this one, the nearest last.
func (r *recipeLock) ahead() ([]string, error) {
	names, _, err := r.client.Children(r.directory)
	if err != nil {
		return nil, err
	}
	return before(names, r.node)
}

// wait waits until a watch tells of a change. It returns false where it found without waiting that there was one.
func (r *recipeLock) wait(ahead []string) (woken bool, err error) {
	var events <-chan zk.Event
	exists := true
	if r.watchAll {
		var names []string
		names, _, events, err = r.client.ChildrenW(r.directory)
		if err == nil {
			ahead, err = before(names, r.node)
		}
		exists = len(ahead) > 0
	} else {
		exists, _, events, err = r.client.ExistsW(r.directory + "/" + ahead[len(ahead)-1])
	}
	if err != nil {
		return false, err
	}
	if !exists && !r.existsThenWait {
		return false, nil
	}
	return true, (<-events).Err
}

// sweep deletes the node, or every node of the client's session if its path is not known, and does not give up.
func (r *recipeLock) sweep(node string) {
	for {
		err := r.sweepOnce(node)
		if err == nil || err == zk.ErrNoNode {
			return
		}
		time.Sleep(recipePause)
	}
}

func (r *recipeLock) sweepOnce(node string) error {
	if node != "" {
		return r.client.Delete(node, -1)
	}
	names, _, err := r.client.Children(r.directory)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := r.directory + "/" + name
		exists, stat, err := r.client.Exists(path)
		if err != nil {
			return err
		}
		if exists && stat.EphemeralOwner == r.client.SessionID() {
			if err := r.client.Delete(path, -1); err != nil && err != zk.ErrNoNode {
				return err
			}
		}
	}
	return nil
}

// before returns the names that stand before the node's in the order of their numbers, the nearest last.
func before(names []string, node string) ([]string, error) {
	own := number(node)
	var ahead []string
	found := false
	for _, name := range names {
		switch n := number(name); {
		case strings.HasSuffix(node, "/"+name):
			found = true
		case n < own:
			ahead = append(ahead, name)
		}
	}
	if !found {
		return nil, errNodeGone
	}
	sortByNumber(ahead)
	return ahead, nil
}
