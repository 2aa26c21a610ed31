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

// A memory is what one contender of a queue leaves to the next one that this process sends there: the GUID, and behind whom
// it has waited. Where all who contend come back again and again, they come back in the same order, each with its own GUID.
// So the next contender can guess the name of the node right before its own, and need not list them all.
type memory struct {
	guid  string
	ahead string // the name, without its number, of the node right before the last that waited; empty if none has
	made  int64  // the transaction that made the directory
	stood int64  // one at which that same directory stood
	trust int    // how often in a row a guess would have been right; a new memory is trusted
}

// draw returns a number that the GUID has drawn, the same for each contender that has it.
func (m *memory) draw() uint16 {
	var drawn [2]byte
	if _, err := hex.Decode(drawn[:], []byte(m.guid[:4])); err != nil {
		panic(err) // It was encoded here.
	}
	return binary.BigEndian.Uint16(drawn[:])
}

// trusted is how often in a row a guess must have been right to be made. Where the order is random, it so costs next to nothing.
const trusted = 2

// memories are those that contenders have left behind.
type memories struct {
	mu   sync.Mutex
	left []memory
}

// leave keeps a memory for the next contender.
func (m *memories) leave(one memory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = append(m.left, one)
}

func (m *memories) take() (memory, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := len(m.left) - 1
	if last < 0 {
		return memory{}, false
	}
	one := m.left[last]
	m.left = m.left[:last]
	return one, true
}

// remember returns the memory for a contender, with a new GUID where it can have none from another.
func (q *queue) remember(r rule) (memory, error) {
	if r.guesses() {
		if m, ok := q.memories.take(); ok {
			return m, nil
		}
	}
	var guid [guidLength / 2]byte
	q.randomMu.Lock()
	_, err := io.ReadFull(q.random, guid[:])
	q.randomMu.Unlock()
	if err != nil {
		return memory{}, fmt.Errorf("lock: reading randomness for a GUID: %w", err)
	}
	return memory{guid: hex.EncodeToString(guid[:]), trust: trusted}, nil
}

// guesses tells whether a contender may guess, and leave its GUID to another. It must wait for everybody, and do nothing
// for which it must know them.
func (r *rule) guesses() bool { return r.kind == exclusive && !r.try }

// bequeath leaves the contender's memory to the next, once its node was removed. With a GUID that is used again nothing may be
// under way that names a node with it: see spoilt. Where numbers are handed out again, the same GUID would give the same name.
func (c *contender) bequeath() {
	if !c.granted {
		c.ahead = "" // It has left its place in the order.
	}
	if !c.spoilt && c.rule.guesses() && countsChildren(numberOf(c.node)) {
		c.memories.leave(c.memory)
	}
}

// learn takes from a listing what the next contender can guess from, and whether a guess would have been right this time.
func (c *contender) learn(before []entry, found *listing) {
	if len(before) == 0 {
		c.ahead, c.trust = "", 0
		return
	}
	nearest := &before[len(before)-1]
	ahead := nearest.name[:len(nearest.name)-numberLength]
	switch {
	case c.ahead == "": // There is nothing to compare with.
	case ahead == c.ahead && nearest.number == numberOf(c.node)-1 && c.proves(found.changed, nearest.number+1):
		c.trust++
	default:
		c.trust = 0
	}
	c.ahead, c.made, c.stood = ahead, found.made, found.changed
}

// proves tells whether a directory must be the one that is remembered, by the transaction that made a node there and by how
// many nodes had come into it then. Another could only have been made after that one stood, and each of its nodes took a
// transaction of its own.
func (m *memory) proves(czxid int64, nodes int32) bool { return czxid <= m.stood+int64(nodes) }

// guess returns the contenders that this one waits for, nil if they must be listed. It looks for the node right before its
// own, whose name but for the number is remembered. If that stands, nobody can be between the two, and who else stands before is
// no matter: see waitFor. What else a listing tells is the fencing token, which takes no more than to know the directory.
func (c *contender) guess() ([]entry, error) {
	number := numberOf(c.node)
	if !countsChildren(number) || number == 0 {
		return nil, nil
	}
	nearest, ok := parseEntry(fmt.Sprintf("%s%0*d", c.ahead, numberLength, number-1))
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
	// The sum must be no higher than the transaction that made the contender's node, which comes after the one before: see
	// learnToken.
	token := c.made + 1 + int64(number)
	if !c.proves(stat.Czxid, number) || token > stat.Czxid+1 {
		return nil, nil
	}
	c.token, c.stood = token, stat.Czxid
	return []entry{unknown, nearest}, nil
}

// unknown stands in a list of blockers for all those of whom nothing is known, not even whether there are any.
var unknown = entry{}

// numberLength is how many digits the number of a node has that is not negative.
const numberLength = 10

// numberOf returns the number of a contender's node.
func numberOf(path string) int32 {
	e, _ := parseEntry(path[strings.LastIndexByte(path, '/')+1:])
	return e.number
}
