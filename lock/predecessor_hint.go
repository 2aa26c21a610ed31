package lock

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// A predecessorHint is what a contender leaves to the next one that its process sends into the
// queue: its GUID, and behind whom it has waited. Where all contenders come back as soon as they
// have given the lock back, they come back in the same order. So one that knows behind whom the one
// before it has waited can guess the name of the node right before its own, and need not list the
// contenders. It is a guess only: what a contender goes by is what it finds under that name.
type predecessorHint struct {
	guid string
	// the name, without its number, of the node behind which was waited; empty if none is known
	predecessor string
	dirCzxid    int64 // the transaction that made the directory of that node
	seenZxid    int64 // a later one, at which that directory stood
	trust       int   // see trusted
}

// A memory is guessed from if it is trusted. It is trusted more each time that it was right, up to
// a bound, and much less each time that it was wrong. A right guess saves a request and a wrong one
// costs one, so that guesses cost next to nothing where the order of contenders is up to chance;
// and where it repeats, two that have changed places do not end them.
const (
	minTrust     = 2
	maxTrust     = 8
	trustPenalty = 4
)

func (h *predecessorHint) hit()  { h.trust = min(h.trust+1, maxTrust) }
func (h *predecessorHint) miss() { h.trust = max(h.trust-trustPenalty, 0) }

// predecessorHints are those that contenders have left behind.
type predecessorHints struct {
	mu    sync.Mutex
	stack []predecessorHint
}

func (h *predecessorHints) put(one predecessorHint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stack = append(h.stack, one)
}

// take returns the memory that was left last, if there is one.
func (h *predecessorHints) take() (predecessorHint, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := len(h.stack) - 1
	if last < 0 {
		return predecessorHint{}, false
	}
	one := h.stack[last]
	h.stack = h.stack[:last]
	return one, true
}

// usesHint tells whether a contender can go by a guess: it waits for everybody, so that the node
// right before its own is what it waits for, and it does wait.
func (r *rule) usesHint() bool { return r.kind == exclusive && !r.try }

// takeHint returns the memory for a contender, a new one if none was left.
func (q *queue) takeHint(r rule) (predecessorHint, error) {
	if r.usesHint() {
		if h, ok := q.hints.take(); ok {
			return h, nil
		}
	}
	var guid [guidLength / 2]byte
	q.randomMu.Lock()
	_, err := io.ReadFull(q.random, guid[:])
	q.randomMu.Unlock()
	if err != nil {
		return predecessorHint{}, fmt.Errorf("lock: reading randomness for a GUID: %w", err)
	}
	return predecessorHint{guid: hex.EncodeToString(guid[:]), trust: minTrust}, nil
}

// storeHint leaves the contender's memory to the next one, when ZooKeeper has confirmed that its
// node is removed. Not if the GUID is spoilt: two nodes with the same GUID must never stand at the
// same time, and nothing that was meant for one may reach another. Nor where numbers are handed out
// again, as the name would be the same.
func (c *contender) storeHint() {
	if c.guidInFlight || !c.rule.usesHint() || !isChildCount(numberOf(c.node)) {
		return
	}
	if !c.granted {
		c.predecessor = "" // It has left its place in the order.
	}
	c.hints.put(c.predecessorHint)
}

// confirmHint takes from a listing behind whom the contender waits, and whether a guess would have
// told so.
func (c *contender) confirmHint(before []entry, found *listing) {
	if len(before) == 0 {
		c.predecessor, c.trust = "", 0
		return
	}
	nearest := &before[len(before)-1]
	ahead := nearest.name[:len(nearest.name)-numberLength]
	switch {
	case c.predecessor == "": // Nothing was known.
	case ahead == c.predecessor && nearest.number == numberOf(c.node)-1 &&
		c.sameDirectory(found.dirPzxid, numberOf(c.node)):
		c.hit()
	default:
		c.miss()
	}
	c.predecessor, c.dirCzxid, c.seenZxid = ahead, found.dirCzxid, found.dirPzxid
}

// tryHint returns the contenders that this one waits for, nil if they must be listed. It looks for
// the node that the memory names, with the number before the contender's own. If that stands nobody
// can be between the two, and whether others stand before it is no matter until it ends: see
// awaitEvent. The only other thing that a listing tells is the fencing token. That is known if the
// directory is; and it must be no higher than the transaction that made the contender's node, which
// comes after the one that made the node before: see learnToken.
func (c *contender) tryHint() ([]entry, error) {
	number := numberOf(c.node)
	if !isChildCount(number) || number == 0 {
		return nil, nil
	}
	nearest, ok := parseEntry(fmt.Sprintf("%s%0*d", c.predecessor, numberLength, number-1))
	if !ok {
		return nil, nil
	}
	_, stat, events, err := c.client.GetW(c.at(nearest.name))
	if isNoNode(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.watch(nearest, watch{events: events, set: time.Now()})
	token := c.dirCzxid + 1 + int64(number)
	if !c.sameDirectory(stat.Czxid, number) || token > stat.Czxid+1 {
		return nil, nil
	}
	c.hit()
	c.token, c.seenZxid = token, stat.Czxid
	return []entry{unknownEntry, nearest}, nil
}

// sameDirectory tells whether a directory must be the one that is remembered, by a transaction no
// earlier than the one that made one of its nodes, and by how many nodes had come into it with that
// one. Had it been made since, it was by a transaction after the one at which the remembered
// directory stood, and each of those nodes took one more.
func (h *predecessorHint) sameDirectory(czxid int64, nodes int32) bool {
	return czxid <= h.seenZxid+int64(nodes)
}

// jitter returns what is drawn by lot for a contender, the same for each that has the GUID.
func (h *predecessorHint) jitter() uint16 {
	var drawn [2]byte
	if _, err := hex.Decode(drawn[:], []byte(h.guid[:2*len(drawn)])); err != nil {
		panic(err) // It was encoded here.
	}
	return binary.BigEndian.Uint16(drawn[:])
}

// unknown stands in a list of blockers for those of whom nothing is known, not even whether there
// are any.
var unknownEntry = entry{}

// numberLength is how many digits a number has that is not negative.
const numberLength = 10

// numberOf returns the number of a contender's node.
func numberOf(path string) int32 {
	e, _ := parseEntry(path[strings.LastIndexByte(path, '/')+1:])
	return e.number
}
