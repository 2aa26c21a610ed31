package lock

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// blockers lists the contenders before this one that block it, nearest last. A contender that comes
// later queues behind, so that one that is not in this list never blocks.
func (c *contender) blockers() ([]entry, error) {
	entries, mine, err := c.listContenders()
	if err != nil {
		return nil, err
	}
	before := entries[:0]
	for i := range entries {
		if e := &entries[i]; compareEntries(e, &mine) < 0 && c.rule.blockedBy(e) {
			before = append(before, *e)
		}
	}
	sortEntries(before)
	return before, nil
}

// listContenders lists all contenders, with their order but unordered, and this one. It deletes
// other nodes of this contender, and learns its token.
func (c *contender) listContenders() (all []entry, mine entry, err error) {
	found, err := c.listOwn()
	if err != nil {
		return nil, mine, err
	}
	c.dirCzxid = found.dirCzxid
	entries, err := c.withOrder(found.entries)
	if err != nil {
		return nil, mine, err
	}
	own := slices.IndexFunc(entries, c.isOwn)
	if own < 0 {
		return nil, mine, errNodeLost
	}
	mine = entries[own]
	if err := c.learnToken(&mine, found.dirCzxid, found.dirPzxid); err != nil {
		return nil, mine, err
	}
	all = entries[:0]
	for _, e := range entries {
		if e.guid == c.guid && e.name != mine.name {
			// A second node of this contender: a request presumed lost was carried out after all.
			if err := c.delete(c.at(e.name)); err != nil {
				return nil, mine, err
			}
			continue
		}
		all = append(all, e)
	}
	return all, mine, nil
}

// isOwn reports whether an entry is the contender's node.
func (c *contender) isOwn(e entry) bool {
	return e.guid == c.guid && strings.HasSuffix(c.node, e.name)
}

// listOwn lists the contenders, including this one unless its node is gone. The listing that was
// sent along with the create suffices if the server handled it after the create: it then contains
// the node. Where sequence numbers repeat, it may instead contain an older node of the same name,
// so it is not used.
func (c *contender) listOwn() (listing, error) {
	if c.earlyListing != nil {
		first := <-c.earlyListing
		c.earlyListing = nil
		if slices.ContainsFunc(first.entries, func(e entry) bool {
			return c.isOwn(e) &&
				isChildCount(e.number)
		}) {
			return first, nil
		}
	}
	sentAt := time.Now()
	found, err := c.list()
	if err == nil && slices.ContainsFunc(found.entries, c.isOwn) {
		c.lastSeen = sentAt
	}
	return found, err
}

// learnToken derives the fencing token from a listing, without another request if possible. The
// token is the zxid that created the directory, plus one, plus the node's sequence number. The
// number counts the children that the directory had before, and each of them took a transaction
// after the directory's. Hence the sum is at most the zxid that created the node, increases from
// node to node, and is lower than the tokens of any later directory.
//
// The token is instead the zxid that created the node if its number is no such count, because the
// counter has overflowed, or if the sum exceeds the zxid of the directory's last change, because
// somebody has created many children in one transaction.
func (c *contender) learnToken(mine *entry, made, changed int64) error {
	c.czxid = mine.czxid
	sum := made + 1 + int64(mine.number)
	switch {
	case c.token != 0:
	case isChildCount(mine.number) && sum <= changed:
		c.token = sum
	case mine.czxid != 0:
		c.token = mine.czxid
	default:
		stat, err := c.verifyNode()
		if err != nil {
			return err
		}
		c.token = stat.Czxid
	}
	return nil
}

// waitFor waits until at most rule.spare blockers are left. It watches the nearest rule.spare+1 of
// them: before few enough are left, one of those must go. If one goes and too many may be left, the
// contender lists again, because the end of a contender that gives up does not imply that those
// before it are gone.
func (c *contender) waitFor(blockers []entry) error {
	for len(blockers) > c.rule.spare {
		if c.checkCancelled() != nil {
			return errCancelled
		}
		if c.rule.try && c.rule.kind != shared {
			return ErrNotAcquired
		}
		remaining, err := c.watchNearest(blockers)
		if err != nil {
			return err
		}
		if len(remaining) < len(blockers) {
			if len(remaining) > c.rule.spare {
				return errRestart // Others may be gone as well, which one listing shows.
			}
			return c.checkCancelled()
		}
		if c.rule.try {
			return ErrNotAcquired
		}
		if err := c.watchOwn(); err != nil {
			return err
		}
		c.observe(Event{Kind: Waiting, Ahead: len(blockers)})
		if blockers, err = c.awaitEvent(blockers); err != nil {
			return err
		}
	}
	return c.checkCancelled()
}

// nearest returns the blockers that are watched.
func (c *contender) nearest(blockers []entry) []entry {
	return blockers[len(blockers)-1-c.rule.spare:]
}

// watchNearest sets the missing watches. It returns the blockers that still exist, and none for a
// reader behind a writer that has become a reader: that writer has held the lock, so nobody is
// before it. A node created later under a blocker's name does not block: where sequence numbers
// repeat, a contender whose session was lost may have returned under the same name.
func (c *contender) watchNearest(blockers []entry) ([]entry, error) {
	nearest := c.nearest(blockers)
	remaining := blockers[:len(blockers)-len(nearest)]
	for _, blocker := range nearest {
		if c.watches[blocker.name].events != nil {
			remaining = append(remaining, blocker)
			continue
		}
		left, ok := c.takeWatch(&blocker)
		if ok && c.rule.kind != shared { // A reader needs the node's data too.
			c.watch(blocker, left)
			remaining = append(remaining, blocker)
			continue
		}
		data, stat, one, err := c.readBlocker(c.at(blocker.name), left)
		if isNoNode(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if c.czxid != 0 && stat.Czxid > c.czxid {
			// Another node of the same name, created after the listing and thus behind this
			// contender.
			continue
		}
		if c.rule.kind == shared && parseRecord(data).Shared {
			return nil, nil
		}
		if one.events != nil {
			c.watch(blocker, one)
		}
		remaining = append(remaining, blocker)
	}
	return remaining, nil
}

// readBlocker reads a blocker and watches it, unless the contender does not wait, or a watch that
// was left for it has missed no change.
func (c *contender) readBlocker(path string, left watch) ([]byte, *zk.Stat, watch, error) {
	if c.rule.try || left.events != nil {
		data, stat, err := c.client.Get(path)
		if err != nil || c.rule.try || stat.Version == left.version && !left.fired() {
			return data, stat, left, err
		}
	}
	// Get instead of Exists, which would leave a watch on a node that is gone and never returns.
	data, stat, events, err := c.client.GetW(path)
	if err != nil {
		return nil, nil, watch{}, err
	}
	return data, stat, watch{events: events, set: time.Now(), version: stat.Version}, nil
}

func (c *contender) watch(blocker entry, one watch) {
	if c.watches == nil {
		c.watches = make(map[string]watch)
	}
	c.watches[blocker.name] = one
}

// takeWatch returns a watch on a blocker that another contender of this process has left. It
// returns none if
//
//   - the watch is older than a session timeout: go-zookeeper/zk may have lost it over a reconnect,
//     and it must not be passed on for ever;
//   - the watch was set before the directory was removed and created again: a contender that has
//     lost its node may get one of the same name there, and a watch that is restored over a
//     reconnect reports the new node as a change, which would pass for a release.
func (c *contender) takeWatch(blocker *entry) (watch, bool) {
	if !isChildCount(blocker.number) {
		return watch{}, false
	}
	left, ok := c.idleWatches.take(c.at(blocker.name))
	if !ok || time.Since(left.set) >= c.timeout || left.dirCzxid != c.dirCzxid {
		return watch{}, false
	}
	return left, true
}

// awaitEvent waits for an event of a watched blocker, and returns the blockers that are left.
func (c *contender) awaitEvent(blockers []entry) ([]entry, error) {
	which, event, err := c.nextEvent(blockers)
	switch {
	case err != nil:
		return nil, err
	case event.Err != nil:
		// The watches are dead, and perhaps also the session and the contender's own node.
		clear(c.watches)
		c.ownWatch = nil
		if _, err := c.verifyNode(); err != nil {
			return nil, err
		}
		return nil, errRestart
	case which == ownNode && event.Type == zk.EventNodeDeleted:
		return nil, errNodeLost
	case which == ownNode:
		c.ownWatch = nil // It was changed and must be watched again.
		return blockers, nil
	case which == timerFired:
		return blockers, nil
	}
	blocker := &blockers[which]
	delete(c.watches, blocker.name)
	if event.Type == zk.EventNodeDataChanged && blocker.kind == exclusive &&
		isChildCount(blocker.number) {
		// The blocker held the lock, so that nobody was before it, and has unlocked: see
		// releaseNode. Where sequence numbers repeat, the event may instead concern another node of
		// the same name, which was created behind while the connection was down.
		return blockers[which+1:], nil
	}
	if event.Type != zk.EventNodeDeleted {
		return blockers, nil
	}
	if len(blockers)-1 > c.rule.spare {
		return nil, errRestart
	}
	return slices.Delete(blockers, which, which+1), nil
}

// The results of nextEvent that are not an index of a blocker.
const (
	ownNode    = -1 // the contender's own node
	timerFired = -2 // the recheck delay has passed
)

// nextEvent waits for an event of a watched blocker or of the contender's own node, and returns its
// source and the event.
func (c *contender) nextEvent(blockers []entry) (int, zk.Event, error) {
	if c.rule.spare > 0 {
		return c.nextEventOf(blockers)
	}
	last := len(blockers) - 1
	delay, recheck := c.recheckDelay()
	timer, stop := optionalTimer(delay)
	defer stop()
	select {
	case event := <-c.watches[blockers[last].name].events:
		return last, event, c.checkInterrupted()
	case event := <-c.ownWatch:
		return ownNode, event, c.checkInterrupted()
	case <-timer:
	case <-c.cancelled:
		return timerFired, zk.Event{}, errCancelled
	case <-c.session.ended:
		return timerFired, zk.Event{}, c.checkInterrupted()
	}
	// The event may have come at the same instant as the timer.
	select {
	case event := <-c.watches[blockers[last].name].events:
		return last, event, c.checkInterrupted()
	default:
	}
	if recheck {
		delete(c.watches, blockers[last].name)
	}
	return timerFired, zk.Event{}, c.checkInterrupted()
}

// checkInterrupted returns the error with which a wait ends, even if an event has come: of a client
// that is closed, watches may tell nothing.
func (c *contender) checkInterrupted() error {
	if err := c.checkCancelled(); err != nil {
		return err
	}
	if c.session.isClosed() {
		return zk.ErrClosing
	}
	return nil
}

// recheckDelay returns the delay after which a waiter reads a node without an event, or 0 for
// never. If recheck is true, the node is the blocker: a reader reads it once per session timeout,
// because go-zookeeper/zk can lose over a reconnect the event that a writer has become a reader,
// unlike that of its end. Otherwise it is the contender's own node, which a contender watches once
// it has not been seen recently.
func (c *contender) recheckDelay() (delay time.Duration, recheck bool) {
	switch {
	case c.ownWatch == nil:
		// Without the spread, a deadline of the caller may pass at the very same instant.
		seen := time.Since(c.lastSeen)
		return max(1, c.timeout/recentPart-seen) + c.guid.spread(retryDelay/3), false
	case c.rule.kind == shared:
		return c.timeout, true
	}
	return 0, false
}

// optionalTimer returns a channel that receives after the duration, or never if it is 0, and a
// function that stops the timer.
func optionalTimer(d time.Duration) (<-chan time.Time, func() bool) {
	if d == 0 {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(d)
	return timer.C, timer.Stop
}

// nextEventOf is nextEvent for several watched blockers.
func (c *contender) nextEventOf(blockers []entry) (int, zk.Event, error) {
	delay, _ := c.recheckDelay()
	timer, stop := optionalTimer(delay)
	defer stop()
	receive := func(channel any) reflect.SelectCase {
		return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(channel)}
	}
	cases := []reflect.SelectCase{
		receive(c.ownWatch), receive(timer), receive(c.cancelled), receive(c.session.ended),
	}
	others := len(cases)
	nearest := c.nearest(blockers)
	for _, blocker := range nearest {
		cases = append(cases, receive(c.watches[blocker.name].events))
	}
	chosen, received, _ := reflect.Select(cases)
	switch {
	case chosen == 0:
		return ownNode, received.Interface().(zk.Event), c.checkInterrupted()
	case chosen < others:
		return timerFired, zk.Event{}, c.checkInterrupted()
	}
	return len(blockers) - len(nearest) + chosen - others, received.Interface().(zk.Event),
		c.checkInterrupted()
}

// watchOwn watches the contender's own node while it waits. The end of the last blocker is then the
// only event that it needs.
func (c *contender) watchOwn() error {
	if c.ownWatch != nil || c.seenRecently() {
		return nil
	}
	line := c.session.currentEpoch() // before the request is sent
	if err := c.verifyAndWatch(); err != nil {
		return err
	}
	c.ownEpoch = line
	return nil
}

// seenRecently reports whether the node was seen so recently that it need not be read again. Like
// the node of a holder, that of a waiter is not watched before.
func (c *contender) seenRecently() bool { return time.Since(c.lastSeen) < c.timeout/recentPart }

// ownNodeIntact reports whether the contender's node is certain to have existed when its last
// blocker ended, without a request. It is if the node was seen recently, or if the events of both
// would have come over the same connection, in the order in which they happened. After a reconnect,
// events come in any order.
func (c *contender) ownNodeIntact() (bool, error) {
	select {
	case event := <-c.ownWatch:
		c.ownWatch = nil
		if event.Type == zk.EventNodeDeleted {
			return false, errNodeLost
		}
		return false, nil
	default:
		return c.seenRecently() || c.ownWatch != nil && c.session.currentEpoch() == c.ownEpoch, nil
	}
}

// verifyNode verifies that the contender's node exists and belongs to the current session.
func (c *contender) verifyNode() (*zk.Stat, error) {
	sentAt := time.Now()
	exists, stat, err := c.client.Exists(c.node)
	if err != nil {
		return nil, err
	}
	if !exists || stat.EphemeralOwner != c.client.SessionID() {
		return nil, errNodeLost
	}
	c.owner, c.lastSeen = stat.EphemeralOwner, sentAt
	return stat, nil
}

// verifyAndWatch is verifyNode, and also watches the node.
func (c *contender) verifyAndWatch() error {
	sentAt := time.Now()
	_, stat, events, err := c.client.GetW(c.node)
	if isNoNode(err) {
		return errNodeLost
	}
	if err != nil {
		return err
	}
	if stat.EphemeralOwner != c.client.SessionID() {
		return errNodeLost
	}
	c.owner, c.ownWatch, c.lastSeen = stat.EphemeralOwner, events, sentAt
	return nil
}
