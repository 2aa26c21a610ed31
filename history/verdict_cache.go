package history

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// CacheableVerdict tells whether a property depends on the outline of a history alone: on what the
// processes asked of the lock and were told, on what became of nodes and sessions, and on the order
// of all that. What passed between the clients and the ensemble, and at what times, is no part of
// it.
func CacheableVerdict(p Property) bool {
	known := find(p)
	return known != nil && known.cacheable
}

// inVerdictKey tells whether events of that kind are a part of the outline.
func inVerdictKey(k Kind) bool {
	const others = 1<<Send | 1<<Reply | 1<<WatchEvent | 1<<Serve | 1<<WatchArmed | 1<<WatchFired | 1<<WatchGone |
		1<<Logged | 1<<Applied | 1<<Leading | 1<<Healed | 1<<Resumed | 1<<Tick
	return uint64(others)>>k&1 == 0
}

// outlinesMax is how many outlines a checker remembers, which takes 512 KB.
const verdictsMax = 1 << 16

// A verdictCache is the outlines of histories that keep their properties, each as 64 bits. Where
// two would have the same place the newer one has it.
type verdictCache struct {
	keys    []uint64 // outlinesMax; 0 where there is none
	lastKey uint64   // of the last call of Familiar
}

// VerdictCached tells whether a history keeps those of the properties that are [CacheableVerdict],
// because one with the same outline did, for which [Checker.CacheVerdict] was called. Histories
// with different outlines are taken for one with a probability of about n²/2^65 after n of them. It
// takes time linear in the events.
func (c *Checker) VerdictCached(properties []Property, events []Event) bool {
	m := &c.cache
	m.lastKey = c.verdictKey(properties, events) | 1
	return m.keys != nil && m.keys[m.lastKey>>1%verdictsMax] == m.lastKey
}

// CacheVerdict notes that the history that [Checker.VerdictCached] was last asked about keeps the
// properties.
func (c *Checker) CacheVerdict() {
	m := &c.cache
	if m.keys == nil {
		m.keys = make([]uint64, verdictsMax)
	}
	m.keys[m.lastKey>>1%verdictsMax] = m.lastKey
}

// verdictKey returns 64 bits over the verdictKey of a history and over what else the verdicts on it
// depend on.
func (c *Checker) verdictKey(properties []Property, events []Event) uint64 {
	h := uint64(len(properties))
	for _, p := range properties {
		if CacheableVerdict(p) {
			h = fold(h, xxhash.Sum64String(string(p)))
		}
	}
	h = fold(h, uint64(c.limits().Overtakings))
	h = fold(h, bit(c.Cut, 0)|bit(c.Exclusive, 1))
	for i := range events {
		if e := &events[i]; inVerdictKey(e.Kind) {
			h = fold(h, e.hashWithoutTime())
		}
	}
	return h
}

// hashWithoutTime returns 64 bits over all of an event but its time.
func (e *Event) hashWithoutTime() uint64 {
	h := fold(uint64(e.Kind)<<32|uint64(uint32(e.Process)),
		uint64(uint32(e.Attempt))<<32|uint64(uint32(e.Server)))
	if e.Request|e.Watch|e.Bytes|int32(e.Peer) != 0 {
		h = fold(fold(h, uint64(uint32(e.Request))<<32|uint64(uint32(e.Watch))),
			uint64(uint32(e.Bytes))<<8|uint64(e.Peer))
	}
	h = fold(h, uint64(e.Zxid))
	h = fold(h, uint64(e.Session))
	if e.Relaxes {
		h = fold(h, 1)
	}
	for i, s := range [...]string{e.Op, e.Path, e.Name, e.Err} {
		if s != "" {
			h = fold(h, xxhash.Sum64String(s)+uint64(i))
		}
	}
	return h
}

// fold folds b into a. It is the step of wyhash (Wang Yi).
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return high ^ low
}
