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
	entries, changed, err := c.listOwn()
	if err == nil {
		entries, err = c.ordered(entries)
	}
	if err != nil {
		return nil, err
	}
	own := slices.IndexFunc(entries, c.isOwn)
	if own < 0 {
		return nil, errDisowned
	}
	mine, last := entries[own], true
	before := entries[:0]
	for i := range entries {
		switch e := &entries[i]; {
		case e.name == mine.name:
		case e.guid == c.guid:
			// A second node of this contender: a request that was taken for lost has been carried out after all.
			if err := c.delete(c.at(e.name)); err != nil {
				return nil, err
			}
		case compareEntries(e, &mine) > 0:
			last = false
		case c.rule.blockedBy(e):
			before = append(before, *e)
		}
	}
	c.learnToken(mine.czxid, changed, last)
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
func (c *contender) listOwn() ([]entry, int64, error) {
	if c.along != nil {
		first := <-c.along
		c.along = nil
		if slices.ContainsFunc(first.entries, c.isOwn) {
			return first.entries, first.changed, nil
		}
	}
	return c.list()
}

// learnToken takes the fencing token from a listing. The token is the transaction that created the node, or a later one
// that still came before those of all contenders behind it: either way tokens follow the order of the queue. Where nobody
// stands behind the node, that can be the last change of the directory, because whoever comes later comes after that. But
// from where numbers do not tell the order, that transaction is known, and the directory does not tell of changes any
// more (ZOOKEEPER-3249).
func (c *contender) learnToken(created, changed int64, last bool) {
	switch {
	case created != 0:
		c.token = created
	case last && c.token == 0:
		c.token = changed
	}
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

// watchNearest sets the watches that are not set yet. It returns the blockers without those that turn out to block no
// longer: they are gone, or, to a reader, are held by a writer that has become one too. Where numbers do not tell the order,
// a contender whose session was lost may have come back under the same name.
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
		if c.token != 0 && stat.Czxid > c.token {
			continue // Another node of the same name, which was made since the listing, behind this contender.
		}
		if c.rule.kind == shared && parseRecord(data).Shared {
			continue
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
	if c.token == 0 {
		c.token = stat.Czxid
	}
	c.own, c.data, c.version = events, data, stat.Version
	return nil
}
