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

// A predecessorHint is passed from a contender to the next one of the same process: its GUID and
// its predecessor. Contenders that return as soon as they have unlocked keep their order, so the
// next one can predict the name of its predecessor's node and need not list the contenders. The
// prediction is only a hint: the contender relies on what it finds under that name.
type predecessorHint struct {
	guid string
	// the name of the predecessor's node without its number; empty if unknown
	predecessor string
	dirCzxid    int64 // zxid that created the directory of that node
	seenZxid    int64 // a later zxid at which that directory existed
	trust       int   // see minTrust
}

// A hint is used if its trust is at least minTrust. Trust increases with each hit, up to maxTrust,
// and decreases by trustPenalty with each miss. A hit saves a request and a miss costs one, so that
// hints cost next to nothing if the order of contenders is random, and survive a swap of two
// contenders if it repeats.
const (
	minTrust     = 2
	maxTrust     = 8
	trustPenalty = 4
)

func (h *predecessorHint) hit()  { h.trust = min(h.trust+1, maxTrust) }
func (h *predecessorHint) miss() { h.trust = max(h.trust-trustPenalty, 0) }

// predecessorHints holds the hints that contenders have left.
type predecessorHints struct {
	mu    sync.Mutex
	stack []predecessorHint
}

func (h *predecessorHints) put(one predecessorHint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stack = append(h.stack, one)
}

// take returns the hint that was left last, if any.
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

// usesHint reports whether a contender can use a hint: it waits for everybody, so that its
// predecessor is the node right before its own, and it does wait.
func (r *rule) usesHint() bool { return r.kind == exclusive && !r.try }

// takeHint returns a hint for a contender, a new one if none was left.
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

// storeHint leaves the contender's hint to the next one, once ZooKeeper has confirmed that its node
// is removed. It does not if
//
//   - requests that name the GUID may be in flight: two nodes with the same GUID must never
//     coexist, and no request meant for one may reach the other;
//   - sequence numbers repeat, since the name would be the same.
func (c *contender) storeHint() {
	if c.guidInFlight || !c.rule.usesHint() || !isChildCount(numberOf(c.node)) {
		return
	}
	if !c.granted {
		c.predecessor = "" // It has left its place in the order.
	}
	c.hints.put(c.predecessorHint)
}

// confirmHint takes the predecessor from a listing, and records whether the hint would have been
// right.
func (c *contender) confirmHint(before []entry, found *listing) {
	if len(before) == 0 {
		c.predecessor, c.trust = "", 0
		return
	}
	nearest := &before[len(before)-1]
	ahead := nearest.name[:len(nearest.name)-numberLength]
	switch {
	case c.predecessor == "": // There was no hint.
	case ahead == c.predecessor && nearest.number == numberOf(c.node)-1 &&
		c.sameDirectory(found.dirPzxid, numberOf(c.node)):
		c.hit()
	default:
		c.miss()
	}
	c.predecessor, c.dirCzxid, c.seenZxid = ahead, found.dirCzxid, found.dirPzxid
}

// tryHint returns the contenders that this one waits for, or nil if they must be listed. It looks
// for the predicted predecessor, with the number before the contender's own. If that node exists,
// no contender is between the two, and others before it do not matter until it ends: see
// awaitEvent.
//
// A listing would also give the fencing token. The token is known if the directory is the same, and
// is valid if it is at most the zxid that created the contender's node, which follows that of the
// predecessor's: see learnToken.
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

// sameDirectory reports whether the directory of a node must be the one of the hint, given the zxid
// that created the node, or a later one, and the number of nodes created in the directory up to it.
// Otherwise the directory was created after seenZxid, and each of those nodes took one more
// transaction.
func (h *predecessorHint) sameDirectory(czxid int64, nodes int32) bool {
	return czxid <= h.seenZxid+int64(nodes)
}

// jitter returns a random number that depends only on the GUID.
func (h *predecessorHint) jitter() uint16 {
	var drawn [2]byte
	if _, err := hex.Decode(drawn[:], []byte(h.guid[:2*len(drawn)])); err != nil {
		panic(err) // takeHint has encoded it.
	}
	return binary.BigEndian.Uint16(drawn[:])
}

// spread returns a random duration of up to 66 ms that depends only on the GUID.
func (h *predecessorHint) spread() time.Duration {
	return time.Duration(h.jitter()) * time.Microsecond
}

// unknownEntry represents, in a list of blockers, contenders about whom nothing is known, not even
// whether they exist.
var unknownEntry = entry{}

// numberLength is the number of digits of a non-negative sequence number.
const numberLength = 10

// numberOf returns the sequence number of a contender's node.
func numberOf(path string) int32 {
	e, _ := parseEntry(path[strings.LastIndexByte(path, '/')+1:])
	return e.number
}
