package lock

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// blockers returns the contenders that stand before this one and that it waits for, the nearest of
// them last.
func (c *contender) blockers() ([]entry, error) {
	if c.useHint {
		c.useHint = false
		if blockers, err := c.tryHint(); err != nil || blockers != nil {
			return blockers, err
		}
	}
	return c.listBlockers()
}

// listBlockers lists them. Whoever comes later stands behind, so none need be looked for that is
// not in this list.
func (c *contender) listBlockers() ([]entry, error) {
	found, err := c.listOwn()
	if err != nil {
		return nil, err
	}
	entries, err := c.withOrder(found.entries)
	if err != nil {
		return nil, err
	}
	own := slices.IndexFunc(entries, c.isOwn)
	if own < 0 {
		return nil, errNodeLost
	}
	mine := entries[own]
	if err := c.learnToken(&mine, found.dirCzxid, found.dirPzxid); err != nil {
		return nil, err
	}
	before := entries[:0]
	for i := range entries {
		switch e := &entries[i]; {
		case e.name == mine.name:
		case e.guid == c.guid:
			// A second node of this contender: a request that was taken for lost has been carried
			// out after all.
			if err := c.delete(c.at(e.name)); err != nil {
				return nil, err
			}
		case compareEntries(e, &mine) < 0 && c.rule.blockedBy(e):
			before = append(before, *e)
		}
	}
	sortEntries(before)
	c.confirmHint(before, &found)
	return before, nil
}

// isOwn tells whether an entry is the contender's node.
func (c *contender) isOwn(e entry) bool {
	return e.guid == c.guid && strings.HasSuffix(c.node, e.name)
}

// listOwn lists the contenders, with this one among them unless its node is gone. The listing that
// was sent along with the request for the node will do, if the server has handled it after that
// request: it shows the node then, and before it only an older node of the same name, where numbers
// are handed out again.
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

// learnToken takes the fencing token from a listing, without asking for more. The number of a node
// counts the children that its directory has had before, and each of those took a transaction of
// its own after the one that made the directory. So their sum is no higher than the transaction
// that created the node, and grows from node to node; and whoever makes the directory again does so
// by a later transaction. A node whose number is no such count, because the counter had come to its
// end, has the transaction that created it for its token. So has one whose sum is higher than any
// transaction of the directory, as where somebody has made many children in one.
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

// waitFor waits until so few of the blockers stand that the contender has its turn. It watches the
// nearest, as many as may stand and one more: by the time that few enough are left, one of those
// must have gone. When one goes and there are still too many for all that it knows, the contender
// lists again: one that gives up does not make way for those behind it, only for the one before.
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
				return errRestart // Those before may be gone as well. One listing tells of all.
			}
			return c.checkCancelled()
		}
		if c.rule.try {
			return ErrNotAcquired
		}
		if err := c.watchOwn(); err != nil {
			return err
		}
		c.observe(Event{Kind: Waiting, Ahead: count(blockers)})
		if blockers, err = c.awaitEvent(blockers); err != nil {
			return err
		}
	}
	return c.checkCancelled()
}

// count returns how many the blockers are, 0 if that is not known.
func count(blockers []entry) int {
	if blockers[0] == unknownEntry {
		return 0
	}
	return len(blockers)
}

// nearest returns the blockers that are watched.
func (c *contender) nearest(blockers []entry) []entry {
	return blockers[len(blockers)-1-c.rule.spare:]
}

// watchNearest sets the watches that are not set yet. It returns the blockers without those that
// turn out to be gone, and none to a reader behind a writer that has become a reader: it had its
// turn, so that those before it are gone. Where numbers do not tell the order, a contender whose
// session was lost may have come back under the same name.
func (c *contender) watchNearest(blockers []entry) ([]entry, error) {
	nearest := c.nearest(blockers)
	remaining := blockers[:len(blockers)-len(nearest)]
	for _, blocker := range nearest {
		if c.watches[blocker.name].events != nil {
			remaining = append(remaining, blocker)
			continue
		}
		if left, ok := c.takeWatch(&blocker); ok {
			c.watch(blocker, left)
			remaining = append(remaining, blocker)
			continue
		}
		// Get and not Exists, which would leave a watch behind on a node that is gone and never
		// comes back.
		data, stat, events, err := c.client.GetW(c.at(blocker.name))
		if isNoNode(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if c.czxid != 0 && stat.Czxid > c.czxid {
			// Another node of the same name, which was made since the listing, behind this
			// contender.
			continue
		}
		if c.rule.kind == shared && parseRecord(data).Shared {
			return nil, nil
		}
		c.watch(blocker, watch{events: events, set: time.Now()})
		remaining = append(remaining, blocker)
	}
	return remaining, nil
}

func (c *contender) watch(blocker entry, one watch) {
	if c.watches == nil {
		c.watches = make(map[string]watch)
	}
	c.watches[blocker.name] = one
}

// takeWatch returns a watch on a blocker that another contender of this process has left behind. It
// will not do where more is to be known of the node than that it stands, nor for longer than a
// session timeout: a watch that go-zookeeper/zk has lost over a reconnect shall not be handed on
// for ever. Nor will one do that was set before the directory was removed and made again: a GUID
// that is used again makes the same name there, and a watch that is set again over a reconnect
// tells of the new node as of a change, which would pass for the end of its lease.
func (c *contender) takeWatch(blocker *entry) (watch, bool) {
	if c.rule.kind == shared || !isChildCount(blocker.number) {
		return watch{}, false
	}
	left, ok := c.idleWatches.take(c.at(blocker.name))
	return left, ok && time.Since(left.set) < c.timeout && left.dirCzxid == c.dirCzxid
}

// awaitEvent waits until a watch on one of the nearest blockers fires, and returns the blockers
// that are left.
func (c *contender) awaitEvent(blockers []entry) ([]entry, error) {
	which, event, err := c.nextEvent(blockers)
	switch {
	case err != nil:
		return nil, err
	case event.Err == zk.ErrClosing:
		c.clientClosed = true
		return nil, event.Err
	case event.Err != nil:
		// The watches are dead, and with them perhaps the session and the contender's own node.
		clear(c.watches)
		c.ownWatch = nil
		if _, err := c.verifyNode(); err != nil {
			return nil, err
		}
		return nil, errRestart
	case which == ownNode && event.Type == zk.EventNodeDeleted:
		return nil, errNodeLost
	case which == ownNode:
		c.ownWatch = nil // It was changed, and is to be watched anew.
		return blockers, nil
	case which == timerFired:
		return blockers, nil
	}
	blocker := &blockers[which]
	delete(c.watches, blocker.name)
	if event.Type == zk.EventNodeDataChanged && blocker.kind == exclusive &&
		isChildCount(blocker.number) {
		// It had the lock, so that nobody stood before it, and has given it back: see giveWay.
		// Where numbers are handed out again, the event may as well be about another node of the
		// same name, which came behind while the connection was down.
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

// What an event can be about besides one of the blockers.
const (
	ownNode    = -1 // the contender's own node
	timerFired = -2 // it is time to look again
)

// nextEvent waits for an event on one of the nearest blockers, or on the contender's own node, and
// returns what it is about with it.
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
		return last, event, c.checkCancelled()
	case event := <-c.ownWatch:
		return ownNode, event, c.checkCancelled()
	case <-timer:
	case <-c.cancelled:
		return timerFired, zk.Event{}, errCancelled
	}
	// The event may have come in the same instant as the timer.
	select {
	case event := <-c.watches[blockers[last].name].events:
		return last, event, c.checkCancelled()
	default:
	}
	if recheck {
		delete(c.watches, blockers[last].name)
	}
	return timerFired, zk.Event{}, c.checkCancelled()
}

// recheckDelay returns when to look again without an event, 0 for never, and whether at the
// blocker: else it is at the contender's own node, which a [Session] watches once it was not seen
// lately. A reader looks at the blocker once in a session timeout: the news that a writer has
// become a reader is one that go-zookeeper/zk can lose over a reconnect, other than that of its
// end.
func (c *contender) recheckDelay() (delay time.Duration, recheck bool) {
	switch {
	case c.session != nil && c.ownWatch == nil:
		return max(1, c.timeout/watchAfter-time.Since(c.lastSeen)), false
	case c.rule.kind == shared:
		return c.timeout, true
	}
	return 0, false
}

// optionalTimer returns a channel that receives once the duration has passed, never if it is 0, and
// a function that stops the timer.
func optionalTimer(d time.Duration) (<-chan time.Time, func() bool) {
	if d == 0 {
		return nil, func() bool { return false }
	}
	timer := time.NewTimer(d)
	return timer.C, timer.Stop
}

// nextEventOf is nextEvent where several blockers are watched.
func (c *contender) nextEventOf(blockers []entry) (int, zk.Event, error) {
	delay, _ := c.recheckDelay()
	timer, stop := optionalTimer(delay)
	defer stop()
	receive := func(channel any) reflect.SelectCase {
		return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(channel)}
	}
	cases := []reflect.SelectCase{receive(c.ownWatch), receive(timer), receive(c.cancelled)}
	nearest := c.nearest(blockers)
	for _, blocker := range nearest {
		cases = append(cases, receive(c.watches[blocker.name].events))
	}
	chosen, received, _ := reflect.Select(cases)
	switch chosen {
	case 0:
		return ownNode, received.Interface().(zk.Event), c.checkCancelled()
	case 1:
		return timerFired, zk.Event{}, c.checkCancelled()
	case 2:
		return timerFired, zk.Event{}, errCancelled
	}
	return len(blockers) - len(nearest) + chosen - 3, received.Interface().(zk.Event),
		c.checkCancelled()
}

// watchOwn watches the contender's own node while it waits, if the client is a [Session]: the end
// of the last blocker is then all that it has to hear of.
func (c *contender) watchOwn() error {
	if c.session == nil || c.ownWatch != nil || c.seenRecently() {
		return nil
	}
	line := c.session.currentEpoch() // before the request is sent
	if err := c.verifyAndWatch(); err != nil {
		return err
	}
	c.ownEpoch = line
	return nil
}

// seenRecently tells whether the contender's node has been seen so lately that it need not be
// looked at again: as a node that is held is not watched at first, neither is one that waits.
func (c *contender) seenRecently() bool { return time.Since(c.lastSeen) < c.timeout/watchAfter }

// ownNodeIntact tells whether it is certain enough, without asking, that the contender's node stood
// when its last blocker went. That is so if it was seen lately, or where the news of both come over
// the same connection, in the order in which they happened: had somebody deleted the node before,
// that would be known by now. After a reconnect news come in any order.
func (c *contender) ownNodeIntact() (bool, error) {
	select {
	case event := <-c.ownWatch:
		c.ownWatch = nil
		if event.Type == zk.EventNodeDeleted {
			return false, errNodeLost
		}
		return false, nil
	default:
		return c.seenRecently() || c.ownWatch != nil && c.session != nil &&
			c.session.currentEpoch() == c.ownEpoch, nil
	}
}

// verifyNode verifies that the contender's own node verifyNode and belongs to the current session.
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

// verifyAndWatch verifies the same, and watches the node.
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
