package subjects

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client"
)

// recipeClaims are the properties of the documented recipe. It reports a lost session no earlier
// than at the unlock, so client-mutual-exclusion is not among them.
var recipeClaims = []history.Property{
	history.ServerMutualExclusion, history.FIFO, history.NoLostWatch, history.Progress,
	history.NoStarvation, history.NoLivelock, history.NoLeakedNodes, history.LossNotification,
	history.NoHerd, history.Linearizable, history.Quiescence,
}

// recipeLimits are the limits of a lock that lists once after it queues and once per wake-up.
var recipeLimits = history.Limits{
	WakeUps: 1, Requests: 5, RequestsPerChange: 3, Overtakings: 0,
	RequestsPerSecond: 30, Margin: promisedMargin,
}

// Textbook is the lock recipe of the ZooKeeper documentation.
func Textbook() scenarios.Subject {
	return recipeSubject("textbook", "ZooKeeper's documented lock recipe: each contender watches "+
		"its predecessor", recipe{})
}

// Herd is the recipe with a watch on all children: every release wakes every contender. It is
// correct.
func Herd() scenarios.Subject {
	return recipeSubject("herd", "the recipe with every contender watching all others: correct, "+
		"but not herd-free", recipe{watchesAll: true})
}

// Heartbeat is herd with a second goroutine that polls the contender's own node. The recipe is
// correct, but go-zookeeper/zk loses its watch:
//   - After a reconnect, the answer to a queued call precedes the client's set-watches request.
//   - The answer raises the client's last zxid, from which the server computes the missed events.
//   - If the connection is lost again before the events arrive, no server sends them again.
func Heartbeat() scenarios.Subject {
	return recipeSubject("heartbeat", "herd with a goroutine that polls during the wait: the "+
		"client library loses its watch", recipe{watchesAll: true, heartbeat: true})
}

// Careful is the recipe with all extensions: retries until success or cancellation, timely loss
// notification, reentrancy, and a fencing token that a resource checks.
func Careful() scenarios.Subject {
	return recipeSubject("careful", "the recipe with retries, loss notification, reentrancy and "+
		"fencing tokens", recipe{retries: true, keepsLease: true, reentrant: true, fencing: true})
}

// GuardedRecipe is the recipe, which does not notify its holder of a loss, with a resource that is
// written by guarded multis.
func GuardedRecipe() scenarios.Subject {
	return recipeSubject("textbook-guarded", "the recipe with a znode that is written in one "+
		"multi with a check of the holder's node", recipe{guardedWrites: true})
}

// A recipe is ZooKeeper's lock recipe with a switch for each extension and each defect.
type recipe struct {
	watchesAll    bool // instead of the predecessor; wakes a herd
	heartbeat     bool // polls its own node during a wait
	retries       bool // a failed attempt is repeated
	keepsLease    bool // notifies its holder of a loss before another process can hold the lock
	watchesNode   bool // notifies its holder when a watch on its node reports a loss
	reentrant     bool // its holder may acquire it again
	fencing       bool // has fencing tokens, which the resource checks
	takesTwo      bool // acquires another lock first, and holds both
	guardedWrites bool // the resource is a znode, written by guarded multis
	barrier       bool // it is a double barrier
	singleBarrier bool // it is a single barrier: see singleBarrierRecipe
	election      bool // it is an election: see electionRecipe
	proclaims     bool // the leader writes its name into the directory, where observers read it
	keepsMargin   bool // with keepsLease: promises a margin, see promisedMargin
	// The defects, described in catalogue.
	tellsLate      bool
	noRecheck      bool
	existsThenWait bool
	noGUID         bool
	leakOnError    bool
	deleteOnce     bool
	deafToExpiry   bool
	nameOrder      bool
	retryProtected bool
	presumeExpiry  bool
	silentLoss     bool
	staleState     bool
	givesUp        bool
	lateNotice     bool
	uncounted      bool
	overcounted    bool
	clockToken     bool
	sessionToken   bool
	unguarded      bool
	retryLoop      bool
	spins          bool
	watchFirst     bool
	noOwnCheck     bool
	blindCleanUp   bool
	forgottenWait  bool
	deafHolder     bool
	acquiresOn     bool
	countsQuitter  bool
	lastLeaver     bool
	entersWoken    bool
	newestLeads    bool
	lateProclaimer bool
	retriesNoNode  bool
	staleBarrier   bool
	heedsDeletion  bool

	steps steps // all of them, or none for correctSteps
}

// steps are the parts of the recipe that a defect can replace.
type steps struct {
	lock         func(*recipeLock, context.Context) (*scenarios.Hold, error)
	enqueue      func(*recipeLock, context.Context) error
	create       func(*recipeLock, context.Context) error
	predecessors func(*recipeLock) ([]string, error)
	wait         func(*recipeLock, context.Context, []string) (woken bool, err error)
	cleanUp      func(*recipeLock, error) // after a failed attempt
	release      func(*recipeLock) error
}

// correctSteps are the steps of the recipe itself.
var correctSteps = steps{
	(*recipeLock).lock, (*recipeLock).enqueue, (*recipeLock).create, (*recipeLock).predecessors,
	(*recipeLock).wait, (*recipeLock).cleanUp, (*recipeLock).release,
}

// withSteps returns the recipe with all its steps.
func (r recipe) withSteps() recipe {
	if r.steps.lock == nil {
		r.steps = correctSteps
	}
	return r
}

func recipeSubject(name, summary string, recipe recipe) scenarios.Subject {
	recipe = recipe.withSteps()
	s := scenarios.Subject{
		Name: name, Summary: summary, Claims: recipe.claims(), Limits: recipeLimits,
		Sometimes: check.QueueSometimes(), OneThread: true, // It has the state of one attempt.
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			r := &recipeLock{
				recipe: recipe, client: p.Client, directory: p.Directory,
				timeout: p.SessionTimeout, ended: p.Context().Done(),
			}
			if recipe.election {
				r.name = []byte(p.Name())
				return electionRecipe{r}, nil
			}
			if recipe.singleBarrier {
				return singleBarrierRecipe{r}, nil
			}
			return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
				return r.steps.lock(r, ctx)
			}), nil
		},
	}
	if recipe.takesTwo {
		// Only one process at a time queues for the lock that it takes last.
		s.Sometimes = []history.Sometimes{check.ExpiredWaiter, check.LostCreate}
	}
	if recipe.barrier {
		s.Places, s.Sometimes = barrierParties, []history.Sometimes{check.LostCreate}
	}
	if recipe.singleBarrier {
		s.Shared, s.Sometimes = waitsAtBarrier, []history.Sometimes{check.LostCreate}
	}
	switch {
	case recipe.unguarded:
		s.Guard = scenarios.Unguarded
	case recipe.fencing:
		s.Guard = scenarios.TokenChecked
	}
	s.Limits.WakeUps, s.Limits.Requests = recipe.wakeUps(), recipe.requests()
	return s
}

func (r *recipe) wakeUps() int {
	if r.watchesAll {
		return history.Unbounded
	}
	return recipeLimits.WakeUps
}

// requests returns how many requests an acquire may send; heartbeats are unlimited.
func (r *recipe) requests() int {
	if r.heartbeat || r.takesTwo {
		return history.Unbounded
	}
	if r.keepsLease {
		return recipeLimits.Requests + 2 // a sync before each listing
	}
	requests := recipeLimits.Requests
	if r.watchesNode {
		requests++ // the watch on its node
	}
	if r.election {
		requests += 3 // the observation
	}
	if r.proclaims {
		requests++
	}
	return requests
}

// claims returns the properties of the recipe with its extensions and without its defects.
func (r *recipe) claims() []history.Property {
	if r.barrier {
		return slices.Clone(barrierClaims)
	}
	if r.singleBarrier {
		return slices.Clone(singleBarrierClaims)
	}
	claims := slices.Clone(recipeClaims)
	if r.watchesAll {
		claims = without(claims, history.NoHerd)
	}
	if r.retries {
		// A failed attempt leaves the queue, and its retry starts at the end.
		claims = append(without(claims, history.NoStarvation), history.NoSpuriousFailure)
	}
	if r.keepsLease {
		claims = append(claims, r.leaseClaims()...)
	}
	if r.watchesNode {
		claims = append(claims, history.SessionLoss)
	}
	if r.takesTwo {
		// A contender joins the second queue long after it has called Lock.
		claims = append(without(claims, history.NoStarvation), history.Promptness)
	}
	if r.reentrant {
		claims = append(claims, history.Reentrancy)
	}
	if r.fencing {
		claims = append(claims, history.MonotonicToken)
	}
	if r.election {
		claims = append(claims, electionClaims...)
	}
	if r.fencing || r.guardedWrites {
		claims = append(claims, history.Fencing, history.NoLostUpdate)
	}
	return claims
}

// recipeLock is one process's handle on a recipe lock.
type recipeLock struct {
	recipe
	client    client.Client
	directory string
	timeout   time.Duration   // of the session
	name      []byte          // of a candidate, the data of its node; nil otherwise
	ended     <-chan struct{} // closed when the process ends

	// State of the current attempt or hold.
	node      string
	session   int64
	token     int64
	count     int       // acquires without an unlock
	attempts  int       // of locks that count them
	canceled  bool      // of the defect sticky-cancel: the previous attempt was canceled
	confirmed time.Time // when the last request that confirmed the node was sent
	lost      chan struct{}
	stop      chan struct{} // ends keepLease and forwardLoss
}

// retryDelay is the time between attempts of a failed request.
const retryDelay = 200 * time.Millisecond

// errLost is the error of an unlock or a re-entry after the lock was lost.
var errLost = errors.New("the lock was lost")

// lock creates a node and waits until it is the first. The documented recipe has no notion of
// sessions: the loss of the session ends the attempt.
func (r *recipeLock) lock(ctx context.Context) (*scenarios.Hold, error) {
	if r.count > 0 {
		r.count++
		return r.hold(), nil
	}
	for {
		err := r.attempt(ctx)
		if err == nil {
			return r.hold(), nil
		}
		if !r.retries || r.givesUp || ctx.Err() != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryDelay):
		}
	}
}

func (r *recipeLock) attempt(ctx context.Context) error {
	if err := r.steps.enqueue(r, ctx); err != nil {
		r.steps.cleanUp(r, err)
		return err
	}
	if r.reentrant {
		r.count = 1
	}
	r.lost = nil
	if r.watchesNode {
		if err := r.watchOwnNode(); err != nil {
			r.deleteSessionNodes()
			return err
		}
	}
	if r.keepsLease {
		r.lost, r.stop = make(chan struct{}), make(chan struct{})
		go r.keepLease(r.node, r.session, r.confirmed, r.lost, r.stop)
	}
	return nil
}

// cleanUp removes what a failed attempt has left.
func (r *recipeLock) cleanUp(err error) {
	if !r.leakOnError && !(r.presumeExpiry && err == zk.ErrSessionExpired) {
		r.deleteSessionNodes()
	}
}

// hold returns the current hold.
func (r *recipeLock) hold() *scenarios.Hold {
	h := &scenarios.Hold{Node: r.node, Token: r.token, Done: r.lost, Unlock: r.unlock}
	if r.reentrant {
		h.Reenter = r.reenter
	}
	if r.guardedWrites {
		h.Resource = r.resource()
	}
	return h
}

func (r *recipeLock) unlock(context.Context) error {
	if r.reentrant {
		if r.count--; r.count > 0 {
			return nil
		}
	}
	if r.stop != nil {
		close(r.stop)
		r.stop = nil
	}
	if r.deleteOnce || r.staleState {
		err := r.tryDelete()
		if r.staleState && err != nil {
			r.count++ // the defect: a failed release leaves it the presumed holder
			return err
		}
		return nil
	}
	if err := r.steps.release(r); !r.silentLoss {
		return err
	}
	return nil
}

// release deletes the node. It returns errLost if the node was gone before.
func (r *recipeLock) release() error {
	maybeDeleted := false // An attempt whose answer was lost may have deleted the node.
	for {
		err := r.tryDelete()
		switch {
		case err != nil && err != zk.ErrNoNode:
		case isClosed(r.lost), err == zk.ErrNoNode &&
			(!maybeDeleted || r.client.SessionID() != r.session):
			return errLost
		default:
			return nil
		}
		maybeDeleted = true
		time.Sleep(retryDelay)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// reenter acquires the lock again after it has confirmed that the lock is held.
func (r *recipeLock) reenter(ctx context.Context) (*scenarios.Hold, error) {
	for {
		_, err := r.client.Sync(r.directory)
		exists := false
		if err == nil {
			exists, _, err = r.client.Exists(r.node)
		}
		switch {
		case isClosed(r.lost), err == nil && !exists:
			return nil, errLost
		case err == nil:
			r.count++
			if r.overcounted {
				r.count++
			}
			return &scenarios.Hold{Unlock: r.unlockReentry}, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(retryDelay):
		}
	}
}

// unlockReentry undoes reenter.
func (r *recipeLock) unlockReentry(context.Context) error {
	if r.uncounted {
		r.deleteNode()
	}
	r.count--
	return nil
}

func (r *recipeLock) enqueue(ctx context.Context) error {
	r.session = r.client.SessionID()
	asked := time.Now()
	if err := r.steps.create(r, ctx); err != nil {
		return err
	}
	if !r.presumeExpiry {
		// The client may have queued the request until it had another session.
		r.session = r.client.SessionID()
	}
	if err := r.readToken(asked); err != nil {
		return err
	}
	for {
		r.confirmed = time.Now()
		ahead, err := r.steps.predecessors(r)
		if err != nil {
			return err
		}
		if len(ahead) == 0 && r.client.SessionID() != r.session && !r.noOwnCheck {
			return zk.ErrSessionExpired
		}
		if len(ahead) == 0 {
			return nil
		}
		woken, err := r.steps.wait(r, ctx, ahead)
		if err != nil || woken && r.noRecheck {
			return err
		}
	}
}

// readToken sets the fencing token, the czxid of the node.
func (r *recipeLock) readToken(asked time.Time) error {
	switch {
	case !r.fencing:
		r.token = 0
	case r.clockToken:
		r.token = asked.UnixMilli()
	case r.sessionToken:
		r.token = r.client.SessionID()
	default:
		exists, stat, err := r.client.Exists(r.node)
		if err != nil {
			return err
		}
		if !exists {
			return errNodeGone
		}
		r.token = stat.Czxid
	}
	return nil
}

func (r *recipeLock) create(context.Context) (err error) {
	r.node = ""
	if !r.noGUID {
		r.node, err = r.client.CreateProtectedEphemeralSequential(r.directory+"/n-", r.name,
			openACL)
		for r.retryProtected && err != nil {
			time.Sleep(retryDelay)
			r.node, err = r.client.CreateProtectedEphemeralSequential(r.directory+"/n-", r.name,
				openACL)
		}
		return err
	}
	for range 3 {
		r.node, err = r.client.Create(r.directory+"/n-", nil, zk.FlagEphemeral|zk.FlagSequence,
			openACL)
		if err != zk.ErrConnectionClosed {
			return err
		}
	}
	return err
}

// errNodeGone is the error of a contender whose node no longer exists.
var errNodeGone = errors.New("the contender's node is gone")

// predecessors lists the contenders before this one, the nearest last. A lock that notifies of
// losses syncs first, so that the listing is not stale.
func (r *recipeLock) predecessors() ([]string, error) {
	if r.keepsLease {
		if _, err := r.client.Sync(r.directory); err != nil {
			return nil, err
		}
	}
	names, _, err := r.client.Children(r.directory)
	if err != nil {
		return nil, err
	}
	if !r.noGUID {
		if names, err = r.deleteDuplicates(names); err != nil {
			return nil, err
		}
	}
	return r.predecessorsAmong(names)
}

// deleteDuplicates deletes the other nodes with the contender's GUID and returns the remaining
// names. When a create is not answered, the client library searches for the node, and creates a
// second one if the server that it asks has not applied the first create yet.
func (r *recipeLock) deleteDuplicates(names []string) ([]string, error) {
	own := r.node[len(r.directory)+1:]
	guid := own[:strings.LastIndexByte(own, '-')+1]
	others := names[:0]
	for _, name := range names {
		if name == own || !strings.HasPrefix(name, guid) {
			others = append(others, name)
		} else if err := r.client.Delete(r.directory+"/"+name, -1); err != nil &&
			err != zk.ErrNoNode {
			return nil, err
		}
	}
	return others, nil
}

// wait waits until a watch fires. It returns false if the change had already happened when it set
// the watch.
func (r *recipeLock) wait(ctx context.Context, ahead []string) (woken bool, err error) {
	var events <-chan zk.Event
	exists := true
	if r.spins {
		return false, nil
	}
	if r.retryLoop {
		r.deleteNode()
		time.Sleep(retryDelay)
		return false, r.create(ctx)
	}
	next := ahead[len(ahead)-1]
	if r.watchFirst {
		next = ahead[0]
	}
	if r.watchesAll {
		var names []string
		names, _, events, err = r.client.ChildrenW(r.directory)
		if err == nil {
			ahead, err = r.predecessorsAmong(names)
		}
		exists = len(ahead) > 0
	} else {
		exists, _, events, err = r.client.ExistsW(r.directory + "/" + next)
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
		go r.sendHeartbeats(done)
	}
	if r.forgottenWait {
		events = forward(events)
	}
	var event zk.Event
	select {
	case event = <-events:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if r.noOwnCheck {
		return true, nil
	}
	if event.Err != nil && r.deafToExpiry {
		<-ctx.Done() // the defect: a watch of an ended session never fires
	}
	return true, event.Err
}

// forward forwards the event of a watch. Its goroutine blocks forever if nobody receives the event:
// the defect forgotten-wait.
func forward(events <-chan zk.Event) <-chan zk.Event {
	latch := make(chan zk.Event)
	go func() { latch <- <-events }()
	return latch
}

// sendHeartbeats polls the contender's node until done is closed.
func (r *recipeLock) sendHeartbeats(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(retryDelay):
			// The answer is ignored; only the pending call matters.
			r.client.Exists(r.node)
		}
	}
}

// deleteSessionNodes deletes every node of the client's session, including a node whose path the
// contender does not know.
func (r *recipeLock) deleteSessionNodes() {
	if !r.blindCleanUp {
		r.node = ""
	}
	r.deleteNode()
}

// deleteNode deletes the node, or every node of the client's session if the path is unknown. It
// retries until it succeeds.
func (r *recipeLock) deleteNode() {
	for {
		if err := r.tryDelete(); err == nil || err == zk.ErrNoNode {
			return
		}
		time.Sleep(retryDelay)
	}
}

func (r *recipeLock) tryDelete() error {
	if r.node != "" || r.blindCleanUp {
		return r.client.Delete(r.directory+"/"+r.node[len(r.directory)+1:], -1)
	}
	return r.deleteOwned()
}

// deleteOwned deletes the nodes of the client's session and of the given ones.
func (r *recipeLock) deleteOwned(sessions ...int64) error {
	// A lagging server may not have applied the create yet.
	if _, err := r.client.Sync(r.directory); err != nil {
		return err
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
		if exists && (stat.EphemeralOwner == r.client.SessionID() ||
			slices.Contains(sessions, stat.EphemeralOwner)) {
			if err := r.client.Delete(path, -1); err != nil && err != zk.ErrNoNode {
				return err
			}
		}
	}
	return nil
}

// predecessorsAmong returns the names before the contender's own, the nearest last.
func (r *recipeLock) predecessorsAmong(names []string) ([]string, error) {
	rank := sequenceDigits
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
	if !found && !r.noOwnCheck {
		return nil, errNodeGone
	}
	slices.SortFunc(ahead, func(a, b string) int { return strings.Compare(rank(a), rank(b)) })
	return ahead, nil
}

// sequenceDigits returns the ten trailing digits of a sequential node's name. They compare like the
// numbers until the numbers overflow, which the recipe ignores.
func sequenceDigits(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// openACL grants all permissions to everybody. ZooKeeper rejects a create without an ACL.
var openACL = zk.WorldACL(zk.PermAll)
