package history

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Outlined tells whether a property depends on the outline of a history alone: on what the processes asked of the lock and
// were told, on what became of nodes and sessions, and on the order of all that. What passed between the clients and the
// ensemble, and at what times, is no part of it.
func Outlined(p Property) bool {
	switch p {
	case ServedExclusion, BeliefExclusion, FencedExclusion, NoLostUpdate, FIFO, Progress, NoStarvation, NoRefusal, NoOrphan,
		HonestLoss, Reentrancy, Token, Linearizable:
		return true
	}
	return false
}

// outlines tells whether events of that kind are a part of the outline.
func outlines(k Kind) bool {
	const others = 1<<Send | 1<<Reply | 1<<WatchEvent | 1<<Serve | 1<<WatchArmed | 1<<WatchFired | 1<<WatchGone |
		1<<Logged | 1<<Applied | 1<<Leading | 1<<Healed | 1<<Resumed | 1<<Tick
	return uint64(others)>>k&1 == 0
}

// outlinesMax is how many outlines a checker remembers, which takes 512 KB.
const outlinesMax = 1 << 16

// A memory is the outlines of histories that keep their properties, each as 64 bits. Where two would have the same place the
// newer one has it.
type memory struct {
	kept   []uint64 // outlinesMax; 0 where there is none
	asked  uint64   // of the last call of Familiar
	buffer []byte
}

// Familiar tells whether a history keeps those of the properties that are [Outlined], because one with the same outline did,
// for which [Checker.Remember] was called. Histories with different outlines are taken for one with a probability of about
// n²/2^65 after n of them. It takes time linear in the events.
func (c *Checker) Familiar(properties []Property, events []Event) bool {
	m := &c.memory
	m.asked = c.outline(properties, events) | 1
	return m.kept != nil && m.kept[m.asked>>1%outlinesMax] == m.asked
}

// Remember notes that the history that [Checker.Familiar] was last asked about keeps the properties.
func (c *Checker) Remember() {
	m := &c.memory
	if m.kept == nil {
		m.kept = make([]uint64, outlinesMax)
	}
	m.kept[m.asked>>1%outlinesMax] = m.asked
}

// outline returns 64 bits over the outline of a history and over what else the verdicts on it depend on.
func (c *Checker) outline(properties []Property, events []Event) uint64 {
	b := c.memory.buffer[:0]
	for _, p := range properties {
		if Outlined(p) {
			b = append(append(b, p...), 0)
		}
	}
	bounds := c.bounds()
	b = binary.AppendVarint(b, int64(bounds.Overtakings))
	if c.Cut {
		b = append(b, 1)
	}
	b = append(b, 0)
	for i := range events {
		if e := &events[i]; outlines(e.Kind) {
			b = e.appendFields(append(b, byte(e.Kind)))
		}
	}
	c.memory.buffer = b
	return xxhash.Sum64(b)
}
