package lock

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// A roundLog is the content of a barrier's directory, encoded as JSON: the rounds that may still
// have a participant. Each round makes one version of these data.
type roundLog struct {
	Rounds []roundEntry `json:"rounds"`
}

// A roundEntry is a round that has begun.
type roundEntry struct {
	Version int32    `json:"version"` // of the directory's data that the round has made
	Members []string `json:"members"` // names of the participants' nodes
}

// A gathering is what a participant of a barrier knows about the rounds.
type gathering struct {
	roundLog
	version  int32    // of the directory's data
	dirCzxid int64    // zxid that created the directory
	watch    watch    // on the directory's data
	members  []string // of the contender's own round; nil before it has begun

	// the version and the directory at which no round had a node of the contender; known is false
	// before the first create
	known      bool
	since      int32
	sinceCzxid int64
	visible    bool // others may have seen a node of the contender
}

// errRoundMissed is the error of a participant whose node is lost.
var errRoundMissed = fmt.Errorf("%w: its round has begun without it, or may have", ErrLost)

// join waits until the contender's round has begun. A round begins by a multi of any contender that
// lists enough of them outside of rounds: it checks their nodes and writes the directory's data, of
// the version at which they were outside. Of the contenders with live nodes, the one with the
// youngest has listed all others, so that no round is left to begin while all wait.
func (c *contender) join() (*leaseKeeper, error) {
	if c.gathering.members != nil {
		return c.confirmRound()
	}
	slow := c.session.proof.slowOpening()
	session, ready := c.client.SessionID(), !c.session.settling()
	switch {
	case c.node != "":
	case !ready: // A round must not count it before it could begin.
		return nil, errSlowConnection
	default:
		if err := c.comeAgain(); err != nil {
			return nil, err
		}
	}
	c.observeQueued()
	if err := c.readRounds(); err != nil {
		return nil, err
	}
	if c.node == "" && c.gathering.known && c.client.SessionID() != session {
		return nil, errRestart // The server of a new session may lag if the session is local.
	}
	switch begun, err := c.ownRound(); {
	case err != nil:
		return nil, err
	case begun:
		return c.confirmRound()
	case !ready:
		return nil, cmp.Or(c.forfeit(errSlowConnection), errSlowConnection)
	case c.node == "":
		c.gathering.visible = true
		if err := c.create(); err != nil {
			return nil, err
		}
		c.observeQueued()
	}
	outside, present, err := c.listOutside()
	if err != nil {
		return nil, err
	}
	if len(outside) >= c.rule.parties {
		return c.beginRound(outside[:c.rule.parties], present)
	}
	c.observe(Event{Kind: Waiting})
	return nil, c.awaitRound(slow)
}

// comeAgain decides all earlier requests of a contender whose node is lost, and removes the node
// unless it is gone. Then no further round can count it, and subsequent reads in the same session
// show whether one has.
func (c *contender) comeAgain() error {
	switch {
	case !c.gathering.known:
		return nil
	case c.uncertain:
		return c.findNode()
	}
	return c.barrier()
}

// unlessBegun returns the error of a contender that has failed and whose node is removed. If its
// round has begun, or may have, the error wraps that too.
func (c *contender) unlessBegun(failure error) error {
	if errors.Is(failure, ErrLost) || !c.gathering.visible {
		return failure
	}
	for c.gathering.members == nil && c.node == "" && !c.uncertain {
		session := c.client.SessionID()
		err := c.comeAgain()
		if err == nil {
			err = c.readRounds()
		}
		if err == nil && c.client.SessionID() != session {
			err = errRestart
		}
		if err == nil {
			if _, err = c.ownRound(); err == nil {
				return failure
			}
		}
		if err != errRestart {
			break
		}
	}
	return fmt.Errorf("%w: %w", errRoundMissed, failure)
}

// readRounds reads the directory's data, and watches them unless they are watched.
func (c *contender) readRounds() error {
	g := c.gathering
	var data []byte
	var stat *zk.Stat
	var err error
	began := time.Now()
	if g.watch.events != nil {
		data, stat, err = c.client.Get(c.path)
	} else {
		var events <-chan zk.Event
		data, stat, events, err = c.client.GetW(c.path)
		if err == nil {
			g.watch = watch{events: events, set: began, version: stat.Version}
		}
	}
	if isNoNode(err) {
		return c.createParents(c.path)
	}
	if err != nil {
		return err
	}
	if stat.Version != g.watch.version && !g.watch.fired() {
		g.watch = watch{} // The client has lost the event, which would have come before the reply.
		return errRestart
	}
	g.roundLog = roundLog{}
	if len(data) > 0 && json.Unmarshal(data, &g.roundLog) != nil {
		return fmt.Errorf("%w: the data of %s are not the rounds of a barrier", errForeign, c.path)
	}
	g.version, g.dirCzxid = stat.Version, stat.Czxid
	return nil
}

// errForeign is the error of a contender that finds the data of something else.
var errForeign = errors.New("lock: foreign data")

// ownRound reports whether the contender's round has begun. It returns errRoundMissed if a round
// has begun that counts a lost node of the contender, or may count it.
func (c *contender) ownRound() (bool, error) {
	g := c.gathering
	later := int32(0) // the rounds since no round had a node of the contender
	for _, r := range g.Rounds {
		for _, name := range r.Members {
			if e, ok := parseEntry(name); !ok || e.guid != c.guid {
				continue
			}
			if c.node == "" || name != nameOf(c.node) {
				return false, errRoundMissed
			}
			g.members = r.Members
			return true, nil
		}
		if r.Version > g.since {
			later++
		}
	}
	if c.node != "" {
		return false, nil
	}
	if g.known && (g.dirCzxid != g.sinceCzxid || g.version != g.since+later) {
		return false, errRoundMissed // Rounds that nobody is left of are not in the log.
	}
	g.known, g.since, g.sinceCzxid = true, g.version, g.dirCzxid
	return false, nil
}

// listOutside returns the contenders that are in no round, by any of their nodes, in order and one
// for each GUID, and whether each name is present.
func (c *contender) listOutside() ([]entry, map[string]bool, error) {
	entries, _, err := c.listContenders()
	if err != nil {
		return nil, nil, err
	}
	sortEntries(entries)
	present, inside := make(map[string]bool), make(map[guid]bool)
	for i := range entries {
		present[entries[i].name] = true
	}
	for _, r := range c.gathering.Rounds {
		for _, name := range r.Members {
			if e, ok := parseEntry(name); ok {
				inside[e.guid] = true
			}
		}
	}
	var outside []entry
	for _, e := range entries {
		if e.kind == party && !inside[e.guid] && !slices.ContainsFunc(outside,
			func(other entry) bool { return other.guid == e.guid }) {
			outside = append(outside, e)
		}
	}
	return outside, present, nil
}

// beginRound begins a round with the contenders, and drops the rounds without a present member.
func (c *contender) beginRound(members []entry, present map[string]bool) (*leaseKeeper, error) {
	g := c.gathering
	log := roundLog{slices.DeleteFunc(slices.Clone(g.Rounds), func(r roundEntry) bool {
		return !slices.ContainsFunc(r.Members, func(name string) bool { return present[name] })
	})}
	next := roundEntry{Version: g.version + 1}
	operations := make([]any, 0, len(members)+1)
	for _, m := range members {
		next.Members = append(next.Members, m.name)
		operations = append(operations, &zk.CheckVersionRequest{Path: c.at(m.name), Version: -1})
	}
	log.Rounds = append(log.Rounds, next)
	data, err := json.Marshal(log)
	if err != nil {
		panic(err) // Strings and numbers can always be marshalled.
	}
	err = c.multi(append(operations,
		&zk.SetDataRequest{Path: c.path, Data: data, Version: g.version})...)
	switch {
	case isNoNode(err), errors.Is(err, zk.ErrBadVersion):
		// Somebody has left, or another round has begun. This server may not know it yet.
		if err := c.sync(); err != nil {
			return nil, err
		}
		return nil, errRestart
	case err != nil:
		return nil, err
	case !slices.ContainsFunc(members, c.isOwn):
		return nil, errRestart
	}
	g.members = next.Members
	return c.confirmRound()
}

// confirmRound grants the contender its part in a round that has begun.
func (c *contender) confirmRound() (*leaseKeeper, error) {
	if err := c.checkCancelled(); err != nil {
		return nil, err
	}
	if c.alive() {
		return c.newLeaseKeeper(), nil
	}
	keeper, err := c.confirmKeeper()
	if err == errNodeLost || err == errForfeited {
		err = errRoundMissed
	}
	return keeper, err
}

// lostEventDelays is the number of session timeouts after which a process at a barrier reads again
// without an event, because go-zookeeper/zk can lose one over a reconnect.
const lostEventDelays = 4

// awaitRound waits until a round may have begun, or the channel is closed. It always returns an
// error.
func (c *contender) awaitRound(slow <-chan struct{}) error {
	g := c.gathering
	timer := time.NewTimer(lostEventDelays * c.timeout)
	defer timer.Stop()
	var event zk.Event
	heard := false
	select {
	case event = <-g.watch.events:
		heard = true
	case <-timer.C:
	case <-slow:
	case <-c.cancelled:
	case <-c.session.ended:
	}
	if !heard {
		select {
		case event = <-g.watch.events: // It may have come at the same instant as anything else.
			heard = true
		default:
		}
	}
	if heard {
		g.watch = watch{}
	}
	if err := c.checkInterrupted(); err != nil {
		return err
	}
	if event.Err != nil || !heard {
		if _, err := c.verifyNode(); err != nil {
			return err
		}
	}
	return errRestart
}
