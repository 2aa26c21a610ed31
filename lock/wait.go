package lock

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// listBlockers returns the paths of the contenders that stand before this one and that it waits for, the nearest of them
// last. Whoever comes later stands behind, so none need be looked for that is not in this list.
func (c *contender) listBlockers() ([]string, error) {
	found, err := c.listOwn()
	if err != nil {
		return nil, err
	}
	entries, err := c.ordered(found.entries)
	if err != nil {
		return nil, err
	}
	own := slices.IndexFunc(entries, c.isOwn)
	if own < 0 {
		return nil, errDisowned
	}
	mine := entries[own]
	if err := c.learnToken(&mine, found.made, found.changed); err != nil {
		return nil, err
	}
	before := entries[:0]
	for i := range entries {
		switch e := &entries[i]; {
		case e.name == mine.name:
		case e.guid == c.guid:
			// A second node of this contender: a request that was taken for lost has been carried out after all.
			if err := c.delete(c.at(e.name)); err != nil {
				return nil, err
			}
		case compareEntries(e, &mine) < 0 && c.rule.blockedBy(e):
			before = append(before, *e)
		}
	}
	sortEntries(before)
	blockers := make([]string, len(before))
	for i := range before {
		blockers[i] = c.at(before[i].name)
	}
	return blockers, nil
}

// isOwn tells whether an entry is the contender's node.
func (c *contender) isOwn(e entry) bool {
	return e.guid == c.guid && strings.HasSuffix(c.node, e.name)
}

// listOwn lists the contenders, with this one among them unless its node is gone. The listing that was sent along with the
// request for the node will do, if the server has handled it after that request.
func (c *contender) listOwn() (listing, error) {
	if c.along != nil {
		first := <-c.along
		c.along = nil
		if slices.ContainsFunc(first.entries, c.isOwn) {
			return first, nil
		}
	}
	return c.list()
}

// learnToken takes the fencing token from a listing, without asking for more. The number of a node counts the children
// that its directory has had before, and each of those took a transaction of its own after the one that made the directory.
// So their sum is no higher than the transaction that created the node, and grows from node to node; and whoever makes the
// directory again does so by a later transaction. A node whose number is no such count, because the counter had come to its
// end, has the transaction that created it for its token. So has one whose sum is higher than any transaction of the
// directory, as where somebody has made many children in one.
func (c *contender) learnToken(mine *entry, made, changed int64) error {
	c.czxid = mine.czxid
	sum := made + 1 + int64(mine.number)
	switch {
	case c.token != 0:
	case countsChildren(mine.number) && sum <= changed:
		c.token = sum
	case mine.czxid != 0:
		c.token = mine.czxid
	default:
		stat, err := c.stands()
		if err != nil {
			return err
		}
		c.token = stat.Czxid
	}
	return nil
}

// waitFor waits until so few of the blockers stand that the contender has its turn. It watches the nearest, as many as
// may stand and one more: by the time that few enough are left, one of those must have gone. When one goes and there
// are still too many for all that it knows, the contender lists again: one that gives up does not make way for those
// behind it, only for the one before.
func (c *contender) waitFor(blockers []string) error {
	for len(blockers) > c.rule.spare {
		if c.wanted() != nil {
			return errUnwanted
		}
		if c.rule.try && c.rule.kind != shared {
			return ErrNotAcquired
		}
		standing, err := c.watchNearest(blockers)
		if err != nil {
			return err
		}
		if len(standing) < len(blockers) {
			blockers = standing
			continue
		}
		if c.rule.try {
			return ErrNotAcquired
		}
		if len(blockers) == c.rule.spare+1 {
			if err := c.watchOwn(); err != nil {
				return err
			}
		}
		c.observe(Event{Kind: Waiting, Ahead: len(blockers)})
		if blockers, err = c.awaitEvent(blockers); err != nil {
			return err
		}
	}
	return c.wanted()
}

// nearest returns the blockers that are watched.
func (c *contender) nearest(blockers []string) []string {
	return blockers[len(blockers)-1-c.rule.spare:]
}

// watchNearest sets the watches that are not set yet. It returns the blockers without those that turn out to be gone, and
// none to a reader behind a writer that has become a reader: it had its turn, so that those before it are gone. Where
// numbers do not tell the order, a contender whose session was lost may have come back under the same name.
func (c *contender) watchNearest(blockers []string) ([]string, error) {
	nearest := c.nearest(blockers)
	standing := append([]string(nil), blockers[:len(blockers)-len(nearest)]...)
	for _, path := range nearest {
		if c.watches[path] != nil {
			standing = append(standing, path)
			continue
		}
		// Get and not Exists, which would leave a watch behind on a node that is gone and never comes back.
		data, stat, events, err := c.client.GetW(path)
		if isNoNode(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if c.czxid != 0 && stat.Czxid > c.czxid {
			continue // Another node of the same name, which was made since the listing, behind this contender.
		}
		if c.rule.kind == shared && parseRecord(data).Shared {
			return nil, nil
		}
		c.watches[path] = events
		standing = append(standing, path)
	}
	return standing, nil
}

// awaitEvent waits until a watch on one of the nearest blockers fires, and returns the blockers that are left.
func (c *contender) awaitEvent(blockers []string) ([]string, error) {
	path, event, err := c.nextEvent(c.nearest(blockers))
	switch {
	case err != nil:
		return nil, err
	case event.Err != nil:
		// The watches are dead, and with them perhaps the session and the contender's own node.
		clear(c.watches)
		c.own = nil
		if _, err := c.stands(); err != nil {
			return nil, err
		}
		return nil, errAgain
	case path == c.node && event.Type == zk.EventNodeDeleted:
		return nil, errDisowned
	case path == c.node:
		c.own = nil // It was changed, and is to be watched anew.
		return blockers, nil
	}
	delete(c.watches, path)
	if event.Type != zk.EventNodeDeleted {
		return blockers, nil
	}
	left := make([]string, 0, len(blockers))
	for _, blocker := range blockers {
		if blocker != path {
			left = append(left, blocker)
		}
	}
	if len(left) > c.rule.spare {
		return nil, errAgain
	}
	return left, nil
}

// nextEvent waits for an event on one of the paths, or on the contender's own node. A reader looks again by itself once in
// a session timeout: the news that a writer has become a reader is one that go-zookeeper/zk can lose over a reconnect, other
// than that of its end.
func (c *contender) nextEvent(paths []string) (string, zk.Event, error) {
	var timer <-chan time.Time
	if c.rule.kind == shared {
		t := time.NewTimer(c.timeout)
		defer t.Stop()
		timer = t.C
	}
	if len(paths) == 1 {
		select {
		case event := <-c.watches[paths[0]]:
			return paths[0], event, c.wanted()
		case event := <-c.own:
			return c.node, event, c.wanted()
		case <-timer:
		case <-c.unwanted:
			return "", zk.Event{}, errUnwanted
		}
		// The event may have come in the same instant as the timer.
		select {
		case event := <-c.watches[paths[0]]:
			return paths[0], event, c.wanted()
		default:
			return paths[0], zk.Event{Type: zk.EventNodeDataChanged}, c.wanted()
		}
	}
	cases := make([]reflect.SelectCase, 0, len(paths)+2)
	for _, path := range paths {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c.watches[path])})
	}
	cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c.own)},
		reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c.unwanted)})
	chosen, received, _ := reflect.Select(cases)
	switch chosen {
	case len(paths):
		return c.node, received.Interface().(zk.Event), c.wanted()
	case len(paths) + 1:
		return "", zk.Event{}, errUnwanted
	}
	return paths[chosen], received.Interface().(zk.Event), c.wanted()
}

// watchOwn watches the contender's own node while it waits, if the client is a [Session]: the end of the last blocker is
// then all that it has to hear of.
func (c *contender) watchOwn() error {
	if c.session == nil || c.own != nil {
		return nil
	}
	line := c.session.line() // before the request is sent
	if err := c.standsWatched(); err != nil {
		return err
	}
	c.line = line
	return nil
}

// unharmed tells whether it is certain, without asking, that the contender's node stood when its last blocker went. That is
// so where the news of both come over the same connection, in the order in which they happened: had somebody deleted the
// node before, that would be known by now. After a reconnect news come in any order.
func (c *contender) unharmed() (bool, error) {
	if c.own == nil || c.session == nil || c.session.line() != c.line {
		return false, nil
	}
	select {
	case event := <-c.own:
		c.own = nil
		if event.Type == zk.EventNodeDeleted {
			return false, errDisowned
		}
		return false, nil
	default:
		return true, nil
	}
}

// stands verifies that the contender's own node stands and belongs to the current session.
func (c *contender) stands() (*zk.Stat, error) {
	exists, stat, err := c.client.Exists(c.node)
	if err != nil {
		return nil, err
	}
	if !exists || stat.EphemeralOwner != c.client.SessionID() {
		return nil, errDisowned
	}
	c.owner = stat.EphemeralOwner
	return stat, nil
}

// standsWatched verifies the same, reads the node and watches it.
func (c *contender) standsWatched() error {
	data, stat, events, err := c.client.GetW(c.node)
	if isNoNode(err) {
		return errDisowned
	}
	if err != nil {
		return err
	}
	if stat.EphemeralOwner != c.client.SessionID() {
		return errDisowned
	}
	c.owner, c.own, c.data, c.version = stat.EphemeralOwner, events, data, stat.Version
	return nil
}
