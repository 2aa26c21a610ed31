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

// recipeClaims is what the documented recipe promises. It tells nobody of a lost session before the
// lock is given back, so it promises nothing about what processes believe meanwhile.
var recipeClaims = []history.Property{
	history.ServerMutualExclusion, history.FIFO, history.NoLostWatch, history.Progress,
	history.NoStarvation, history.NoLivelock,
	history.NoLeakedNodes, history.LossNotification, history.NoHerd, history.Linearizable,
}

// recipeBounds are those of a lock that lists once when it has queued and once for each time that
// it is woken.
var recipeBounds = history.Limits{
	WakeUps: 1, Requests: 5, RequestsPerChange: 3, Overtakings: 0,
	RequestsPerSecond: 30,
}

// Textbook is the lock recipe of the ZooKeeper documentation without a defect.
func Textbook() scenarios.Subject {
	return recipeSubject("textbook", "ZooKeeper's lock recipe as documented: each contender "+
		"watches "+
		"the one before it", recipe{})
}

// Herd watches all children: every release wakes every contender. It is correct all the same.
func Herd() scenarios.Subject {
	return recipeSubject("herd",
		"the recipe, but every contender watches all others: correct, not "+
			"herd-free", recipe{watchAll: true})
}

// Heartbeat watches all children, and a second goroutine looks now and then whether the contender's
// own node still stands. The recipe has no defect, but go-zookeeper/zk loses its watch: after a
// reconnect the answer to a call that has waited goes before the watches that are set again, and
// raises the number from which the server tells what was missed. When the connection is lost once
// more before the server's events are there, what they told of is never told again.
func Heartbeat() scenarios.Subject {
	return recipeSubject("heartbeat", "herd, and a goroutine that asks while it waits: the client "+
		"loses its watch",
		recipe{watchAll: true, heartbeat: true})
}

// Careful is the recipe with all that can be added to it: it tries again until it is granted or
// given up, tells its holder of a loss in time, counts what its holder takes once more, and has a
// fencing token, which a resource checks.
func Careful() scenarios.Subject {
	return recipeSubject("careful", "the recipe with retries, notice of loss, reentrancy and "+
		"fencing tokens",
		recipe{retries: true, vigilant: true, counting: true, tokens: true})
}

// GuardedRecipe is the recipe, which tells its holder nothing, with a resource that is written by
// guarded multis.
func GuardedRecipe() scenarios.Subject {
	return recipeSubject("textbook-guarded", "the recipe, with a znode that is written in one "+
		"multi "+
		"with a check of the contender's node",
		recipe{multi: true})
}

// A recipe is ZooKeeper's lock recipe with a switch for each thing that it can do besides, and for
// each defect.
type recipe struct {
	watchAll  bool // a herd
	heartbeat bool // asks for its node while it waits
	retries   bool // an attempt that fails is tried again
	vigilant  bool // tells its holder of a loss, before anybody else can have the lock
	listening bool // tells its holder of a loss of which the client library tells
	counting  bool // its holder may take it once more
	tokens    bool // it has fencing tokens, and the resource checks them
	multi     bool // the resource is a znode that is written by guarded multis

	// The defects. What each does stands with its entry in [Defects].

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
}

func recipeSubject(name, summary string, recipe recipe) scenarios.Subject {
	s := scenarios.Subject{
		Name: name, Summary: summary, Claims: recipe.claims(), Limits: recipeBounds,
		Sometimes: history.QueueSometimes(),
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			r := &recipeLock{
				recipe: recipe, client: p.Client, directory: p.Directory,
				timeout: p.SessionTimeout,
			}
			return scenarios.LockerFunc(r.lock), nil
		},
	}
	switch {
	case recipe.unguarded:
		s.Guard = scenarios.Unguarded
	case recipe.tokens:
		s.Guard = scenarios.TokenChecked
	}
	s.Limits.WakeUps, s.Limits.Requests = recipe.wakeUps(), recipe.requests()
	return s
}

func (r *recipe) wakeUps() int {
	if r.watchAll {
		return history.Unbounded
	}
	return recipeBounds.WakeUps
}

// requests returns what an acquire may cost: a heartbeat costs something as long as it lasts.
func (r *recipe) requests() int {
	if r.heartbeat {
		return history.Unbounded
	}
	if r.vigilant {
		return recipeBounds.Requests + 2 // It syncs before it lists.
	}
	if r.listening {
		return recipeBounds.Requests + 1 // It watches its node.
	}
	return recipeBounds.Requests
}

// claims returns what a recipe promises that has these features and no defect.
func (r *recipe) claims() []history.Property {
	claims := slices.Clone(recipeClaims)
	if r.watchAll {
		claims = slices.DeleteFunc(claims,
			func(p history.Property) bool { return p == history.NoHerd })
	}
	if r.retries {
		// An attempt that has failed leaves the queue, and the next one begins at its end.
		claims = slices.DeleteFunc(claims,
			func(p history.Property) bool { return p == history.NoStarvation })
		claims = append(claims, history.NoSpuriousFailure)
	}
	if r.vigilant {
		claims = append(claims, history.ClientMutualExclusion)
	}
	if r.listening {
		claims = append(claims, history.SessionLoss)
	}
	if r.counting {
		claims = append(claims, history.Reentrancy)
	}
	if r.tokens {
		claims = append(claims, history.MonotonicToken)
	}
	if r.tokens || r.multi {
		claims = append(claims, history.Fencing, history.NoLostUpdate)
	}
	return claims
}

// recipeLock is one process's handle on a lock that follows the recipe.
type recipeLock struct {
	recipe
	client    simzk.Client
	directory string
	timeout   time.Duration // of the session

	// Of the attempt that is under way, or the hold.
	node      string
	session   int64
	token     int64
	count     int       // how often the holder has taken it and not given it back
	confirmed time.Time // when the last request was sent whose answer shows that the node stands
	lost      chan struct{}
	stop      chan struct{} // ends the vigil
}

// recipePause is the time between two tries of a request that failed.
const recipePause = 200 * time.Millisecond

// errLost is what a holder is told that gives back, or takes once more, what it has no longer.
var errLost = errors.New("the lock was lost")

// lock makes a node and waits for its turn. The documented recipe has no notion of sessions: one
// that is lost ends the attempt.
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
		case <-time.After(recipePause):
		}
	}
}

func (r *recipeLock) attempt(ctx context.Context) error {
	if err := r.enqueue(ctx); err != nil {
		if !r.leakOnError && !(r.presumeExpiry && err == zk.ErrSessionExpired) {
			r.sweepAll()
		}
		return err
	}
	if r.counting {
		r.count = 1
	}
	r.lost = nil
	if r.listening {
		if err := r.listen(); err != nil {
			r.sweepAll()
			return err
		}
	}
	if r.vigilant {
		r.lost, r.stop = make(chan struct{}), make(chan struct{})
		go r.keepVigil(r.node, r.session, r.confirmed, r.lost, r.stop)
	}
	return nil
}

// hold returns what the process has while it has the lock.
func (r *recipeLock) hold() *scenarios.Hold {
	h := &scenarios.Hold{Node: r.node, Token: r.token, Done: r.lost, Unlock: r.unlock}
	if r.counting {
		h.Reenter = r.again
	}
	if r.multi {
		h.Resource = r.resource()
	}
	return h
}

func (r *recipeLock) unlock(context.Context) error {
	if r.counting {
		if r.count--; r.count > 0 {
			return nil
		}
	}
	if r.stop != nil {
		close(r.stop)
		r.stop = nil
	}
	if r.deleteOnce || r.staleState {
		err := r.sweepOnce()
		if r.staleState && err != nil {
			r.count++ // It takes itself for the holder, for it could not give the lock back.
			return err
		}
		return nil
	}
	if err := r.release(); !r.silentLoss {
		return err
	}
	return nil
}

// release deletes the node, and finds out whether it was there until then.
func (r *recipeLock) release() error {
	doubtful := false // A try whose answer was lost may have deleted it.
	for {
		err := r.sweepOnce()
		switch {
		case err != nil && err != zk.ErrNoNode:
		case isClosed(r.lost), err == zk.ErrNoNode &&
			(!doubtful || r.client.SessionID() != r.session):
			return errLost
		default:
			return nil
		}
		doubtful = true
		time.Sleep(recipePause)
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

// again takes the lock once more, after it has made sure that it is still held.
func (r *recipeLock) again(ctx context.Context) (*scenarios.Hold, error) {
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
			return &scenarios.Hold{Unlock: r.exit}, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(recipePause):
		}
	}
}

// exit gives back what was taken once more.
func (r *recipeLock) exit(context.Context) error {
	if r.uncounted {
		r.sweep()
	}
	r.count--
	return nil
}

func (r *recipeLock) enqueue(ctx context.Context) error {
	r.session = r.client.SessionID()
	asked := time.Now()
	if err := r.create(); err != nil {
		return err
	}
	if !r.presumeExpiry {
		// The client may have kept the request until it had another session.
		r.session = r.client.SessionID()
	}
	if err := r.takeToken(asked); err != nil {
		return err
	}
	for {
		r.confirmed = time.Now()
		ahead, err := r.ahead()
		if err != nil {
			return err
		}
		if len(ahead) == 0 && r.client.SessionID() != r.session && !r.noOwnCheck {
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

// takeToken finds out the fencing token, which is the transaction that made the node.
func (r *recipeLock) takeToken(asked time.Time) error {
	switch {
	case !r.tokens:
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

func (r *recipeLock) create() (err error) {
	r.node = ""
	if !r.noGUID {
		r.node, err = r.client.CreateProtectedEphemeralSequential(r.directory+"/n-", nil, openACL)
		for r.retryProtected && err != nil {
			time.Sleep(recipePause)
			r.node, err = r.client.CreateProtectedEphemeralSequential(r.directory+"/n-", nil,
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

// errNodeGone is what a contender finds that outlived its node.
var errNodeGone = errors.New("the contender's node is gone")

// ahead returns the contenders before this one, the nearest last. One that promises to tell of a
// loss makes sure that what it sees is not of the past.
func (r *recipeLock) ahead() ([]string, error) {
	if r.vigilant {
		if _, err := r.client.Sync(r.directory); err != nil {
			return nil, err
		}
	}
	names, _, err := r.client.Children(r.directory)
	if err != nil {
		return nil, err
	}
	if !r.noGUID {
		if names, err = r.withoutTwins(names); err != nil {
			return nil, err
		}
	}
	return r.before(names)
}

// withoutTwins removes the nodes that have the contender's GUID and are not the one that it knows
// of. The search for a node whose create was not answered makes another one if it has asked a
// server that did not know of the first yet.
func (r *recipeLock) withoutTwins(names []string) ([]string, error) {
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

// wait waits until a watch tells of a change. It returns false where it found without waiting that
// there was one.
func (r *recipeLock) wait(ctx context.Context, ahead []string) (woken bool, err error) {
	var events <-chan zk.Event
	exists := true
	if r.spins {
		return false, nil
	}
	if r.retryLoop {
		r.sweep()
		time.Sleep(recipePause)
		return false, r.create()
	}
	next := ahead[len(ahead)-1]
	if r.watchFirst {
		next = ahead[0]
	}
	if r.watchAll {
		var names []string
		names, _, events, err = r.client.ChildrenW(r.directory)
		if err == nil {
			ahead, err = r.before(names)
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
		go r.beat(done)
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
		<-ctx.Done() // The watch of a session that is over never fires.
	}
	return true, event.Err
}

// forward hands on the event of a watch. Whoever does not wait for it any more leaves this waiting
// for ever.
func forward(events <-chan zk.Event) <-chan zk.Event {
	latch := make(chan zk.Event)
	go func() { latch <- <-events }()
	return latch
}

// beat asks for the contender's node until done.
func (r *recipeLock) beat(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case <-time.After(recipePause):
			// The answer makes no difference; that somebody waits for it does.
			r.client.Exists(r.node)
		}
	}
}

// sweepAll deletes every node of the client's session, of which there may be one that the contender
// does not know.
func (r *recipeLock) sweepAll() {
	if !r.blindCleanUp {
		r.node = ""
	}
	r.sweep()
}

// sweep deletes the node, or every node of the client's session if its path is not known, and does
// not give up.
func (r *recipeLock) sweep() {
	for {
		if err := r.sweepOnce(); err == nil || err == zk.ErrNoNode {
			return
		}
		time.Sleep(recipePause)
	}
}

func (r *recipeLock) sweepOnce() error {
	if r.node != "" || r.blindCleanUp {
		return r.client.Delete(r.directory+"/"+r.node[len(r.directory)+1:], -1)
	}
	// A server that lags behind may not know of the node yet.
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
	if !found && !r.noOwnCheck {
		return nil, errNodeGone
	}
	slices.SortFunc(ahead, func(a, b string) int { return strings.Compare(rank(a), rank(b)) })
	return ahead, nil
}

// number returns the digits in which a sequential node's name ends. They compare as the numbers do,
// because they all have ten digits; the recipe knows nothing of numbers that have wrapped.
func number(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// openACL grants everybody everything. ZooKeeper refuses a node without an ACL.
var openACL = zk.WorldACL(zk.PermAll)
