package check

import (
	"github.com/cespare/xxhash/v2"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/hash64"
)

// CacheableVerdict reports whether the verdict on a property depends only on the part of a history
// that the verdict cache compares: the events between processes and their locks, the changes of
// nodes and sessions, and their order. Messages between clients and the ensemble are not part of
// it, nor are times. That time passed is, if an Unlock fails, and so are commands if a key expires.
func CacheableVerdict(p history.Property) bool {
	known := find(p)
	return known != nil && known.cacheable
}

// inVerdictKey reports whether events of the kind are part of the key of the cache.
func inVerdictKey(k history.Kind) bool {
	const others = 1<<history.Send | 1<<history.Reply | 1<<history.WatchEvent | 1<<history.Serve |
		1<<history.WatchArmed | 1<<history.WatchFired |
		1<<history.WatchGone | 1<<history.Logged | 1<<history.Applied | 1<<history.Leading |
		1<<history.Healed | 1<<history.Resumed | 1<<history.Tick |
		1<<history.Command | 1<<history.Executed | 1<<history.Answer
	return uint64(others)>>k&1 == 0
}

// verdictsMax is the number of keys in a cache, which takes 512 KB.
const verdictsMax = 1 << 16

// A verdictCache holds the 64-bit keys of histories without a violation. Of two keys with the same
// slot it keeps the newer one.
type verdictCache struct {
	keys    []uint64 // verdictsMax slots; 0 in an empty one
	lastKey uint64   // of the last call of VerdictCached
}

// VerdictCached reports whether a history with the same key was passed to [Checker.CacheVerdict]
// for the same properties. If so, this history keeps those of the properties that are
// [CacheableVerdict]. After n histories, the probability that two with different keys have collided
// is about n²/2^65. It takes time linear in the events.
func (c *Checker) VerdictCached(properties []history.Property, events []history.Event) bool {
	m := &c.cache
	m.lastKey = c.verdictKey(properties, events) | 1
	return m.keys != nil && m.keys[m.lastKey>>1%verdictsMax] == m.lastKey
}

// CacheVerdict records that the last history passed to [Checker.VerdictCached] keeps the
// properties.
func (c *Checker) CacheVerdict() {
	m := &c.cache
	if m.keys == nil {
		m.keys = make([]uint64, verdictsMax)
	}
	m.keys[m.lastKey>>1%verdictsMax] = m.lastKey
}

// verdictKey returns the key of a history: a 64-bit hash of its compared events, the properties,
// and the fields of the checker on which the verdicts depend.
func (c *Checker) verdictKey(properties []history.Property, events []history.Event) uint64 {
	h := uint64(len(properties))
	for _, p := range properties {
		if CacheableVerdict(p) {
			h = fold(h, xxhash.Sum64String(string(p)))
		}
	}
	limits := c.limits()
	h = fold(h, uint64(limits.Overtakings))
	h = fold(h, bit(c.Cut, 0)|bit(c.Exclusive, 1)|bit(c.Barrier, 2)|
		uint64(limits.EffectivePlaces()-1)<<3)
	more := uint64(0)
	for i := range events {
		switch e := &events[i]; {
		case e.Kind == history.UnlockReturn && e.Err != "":
			more |= 1 << history.Tick
		case e.Kind == history.KeyExpired:
			more |= 1<<history.Tick | unreleasedKinds
		}
	}
	for i := range events {
		if e := &events[i]; inVerdictKey(e.Kind) || more>>e.Kind&1 != 0 {
			h = fold(h, hashWithoutTime(e))
		}
	}
	return h
}

// hashWithoutTime returns a 64-bit hash of all fields except the time.
func hashWithoutTime(e *history.Event) uint64 {
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
	if e.MayEndLock {
		h = fold(h, 2)
	}
	if e.Connection != 0 {
		h = fold(h, uint64(e.Connection))
	}
	if e.Validity != 0 {
		h = fold(h, uint64(e.Validity))
	}
	for i, s := range [...]string{e.Op, e.Path, e.Name, e.Err} {
		if s != "" {
			h = fold(h, xxhash.Sum64String(s)+uint64(i))
		}
	}
	return h
}

func fold(a, b uint64) uint64 { return hash64.Fold(a, b) }
