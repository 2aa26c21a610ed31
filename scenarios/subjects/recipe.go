package subjects

import (
	"context"
	"errors"
	"slices"
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

// NoGUID creates its node again when the reply to the create is lost, and then waits for its own first node. Curator
// was the first to put a GUID into the name, in 2011; several libraries still do not.
func NoGUID() scenarios.Subject {
	return recipeSubject("no-guid", "broken: creates a second node when the reply to the first create is lost", recipe{noGUID: true})
}

// LeakOnError returns from a failed attempt without deleting its node. go-zookeeper's own recipe does so on every
// error after the create.
func LeakOnError() scenarios.Subject {
	return recipeSubject("leak-on-error", "broken: leaves its node behind when an attempt fails", recipe{leakOnError: true})
}

// DeleteOnce gives the lock back with a single request, and takes a failure of that for success. Kazoo swallows it
// where a non-blocking attempt is given up (python-zk/kazoo#732).
func DeleteOnce() scenarios.Subject {
	return recipeSubject("delete-once", "broken: does not try again when the release does not get through", recipe{deleteOnce: true})
}

// DeafToExpiry waits for the end of its predecessor and for nothing else: the event that says that the session has
// expired wakes it, and it goes on waiting (twitter-archive/commons#20).
func DeafToExpiry() scenarios.Subject {
	return recipeSubject("deaf-to-expiry", "broken: a waiter whose session expires waits on", recipe{deafToExpiry: true})
}

// NameOrder orders contenders by their whole names and not by their numbers. ZooKeeper's C recipe and its Java one
// did, where the name began with the session (ZOOKEEPER-2931, ZOOKEEPER-645).
func NameOrder() scenarios.Subject {
	return recipeSubject("name-order", "broken: orders contenders by name, which begins with a GUID", recipe{nameOrder: true})
}

// RetryProtected makes its protected node again when that fails, under another GUID. go-zookeeper's own create gives up
// the search for the first node on any error but one, such as that no server can be reached, and leaves it to its caller.
func RetryProtected() scenarios.Subject {
	return recipeSubject("retry-protected", "broken: calls CreateProtectedEphemeralSequential again when it fails", recipe{retryProtected: true})
}

// PresumeExpiry takes it for granted that its node has gone with the session in which it asked for it. A call that
// go-zookeeper/zk queues while it has no connection is sent under whatever session comes next.
func PresumeExpiry() scenarios.Subject {
	return recipeSubject("presume-expiry", "broken: does not remove a node that it takes for that of an expired session", recipe{presumeExpiry: true})
}

// Heartbeat watches all children, and a second goroutine looks now and then whether the contender's own node still stands.
// The recipe has no defect, but go-zookeeper/zk loses its watch: after a reconnect the answer to a call that has waited
// goes before the watches that are set again, and raises the number from which the server tells what was missed. When
// the connection is lost once more before the server's events are there, what they told of is never told again.
func Heartbeat() scenarios.Subject {
	return recipeSubject("heartbeat", "herd, and a goroutine that asks while it waits: the client loses its watch",
		recipe{watchAll: true, heartbeat: true})
}

// A recipe is ZooKeeper's lock recipe with a switch for each defect.
type recipe struct {
	watchAll       bool // no defect, but a herd
	heartbeat      bool // no defect either
	noRecheck      bool
	existsThenWait bool
	noGUID         bool
	leakOnError    bool
	deleteOnce     bool
	deafToExpiry   bool
	nameOrder      bool
	retryProtected bool
	presumeExpiry  bool
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
	client    simzk.Client
	directory string
	node      string
}

// recipePause is the time between two tries of a request that failed.
const recipePause = 200 * time.Millisecond

// lock makes a node and waits for its turn. The recipe has no notion of sessions: one that is lost ends the attempt.
func (r *recipeLock) lock(ctx context.Context) (*scenarios.Hold, error) {
	if err := r.enqueue(ctx); err != nil {
		if !r.leakOnError && !(r.presumeExpiry && err == zk.ErrSessionExpired) {
			r.sweep()
		}
		return nil, err
	}
	return &scenarios.Hold{Node: r.node, Unlock: r.unlock}, nil
}

func (r *recipeLock) unlock(context.Context) error {
	if r.deleteOnce {
		r.sweepOnce() // The result is what the defect does not look at.
		return nil
	}
	r.sweep()
	return nil
}

func (r *recipeLock) enqueue(ctx context.Context) error {
	session := r.client.SessionID()
	if err := r.create(); err != nil {
		return err
	}
	for {
		ahead, err := r.ahead()
		if err != nil {
			return err
		}
		if len(ahead) == 0 && r.client.SessionID() != session {
			return zk.ErrSessionExpired
		}
		if len(ahead) == 0 {
			return nil
		}
		woken, err := r.wait(ctx, ahead)
		if err != nil || woken && r.noRecheck {
			return err
		}
	}
}

func (r *recipeLock) create() (err error) {
	r.node = ""
	if !r.noGUID {
		r.node, err = r.client.CreateProtectedEphemeralSequential(r.directory+"/n-", nil, openACL)
		for r.retryProtected && err != nil {
			time.Sleep(recipePause)
			r.node, err = r.client.CreateProtectedEphemeralSequential(r.directory+"/n-", nil, openACL)
		}
		return err
	}
	for range 3 {
		r.node, err = r.client.Create(r.directory+"/n-", nil, zk.FlagEphemeral|zk.FlagSequence, openACL)
		if err != zk.ErrConnectionClosed {
			return err
		}
	}
	return err
}

// errNodeGone is what a contender finds that outlived its node.
var errNodeGone = errors.New("the contender's node is gone")

// ahead returns the contenders before this one, the nearest last.
func (r *recipeLock) ahead() ([]string, error) {
	names, _, err := r.client.Children(r.directory)
	if err != nil {
		return nil, err
	}
	return r.before(names)
}

// wait waits until a watch tells of a change. It returns false where it found without waiting that there was one.
func (r *recipeLock) wait(ctx context.Context, ahead []string) (woken bool, err error) {
	var events <-chan zk.Event
	exists := true
	if r.watchAll {
		var names []string
		names, _, events, err = r.client.ChildrenW(r.directory)
		if err == nil {
			ahead, err = r.before(names)
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
	if r.heartbeat {
		done := make(chan struct{})
		defer close(done)
		go r.beat(done)
	}
	var event zk.Event
	select {
	case event = <-events:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if event.Err != nil && r.deafToExpiry {
		<-ctx.Done() // The watch of a session that is over never fires.
	}
	return true, event.Err
}

// beat asks for the contender's node until done.
func (r *recipeLock) beat(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(recipePause):
			r.client.Exists(r.node) // The answer makes no difference; that somebody waits for it does.
		}
	}
}

// sweep deletes the node, or every node of the client's session if its path is not known, and does not give up.
func (r *recipeLock) sweep() {
	for {
		if err := r.sweepOnce(); err == nil || err == zk.ErrNoNode {
			return
		}
		time.Sleep(recipePause)
	}
}

func (r *recipeLock) sweepOnce() error {
	if r.node != "" {
		return r.client.Delete(r.node, -1)
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

// before returns the names that stand before the contender's own, the nearest last.
func (r *recipeLock) before(names []string) ([]string, error) {
	rank := number
	if r.nameOrder {
		rank = func(name string) string { return name }
	}
	own := r.node[len(r.directory)+1:]
	var ahead []string
	found := false
	for _, name := range names {
		switch {
		case name == own:
			found = true
		case rank(name) < rank(own):
			ahead = append(ahead, name)
		}
	}
	if !found {
		return nil, errNodeGone
	}
	slices.SortFunc(ahead, func(a, b string) int { return strings.Compare(rank(a), rank(b)) })
	return ahead, nil
}

// number returns the digits in which a sequential node's name ends. They compare as the numbers do, because they all
// have ten digits; the recipe knows nothing of numbers that have wrapped.
func number(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// openACL grants everybody everything. ZooKeeper refuses a node without an ACL.
var openACL = zk.WorldACL(zk.PermAll)
