package exhaustive

import (
	"math"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// DefaultMemoryLimit returns how many bytes an exhaustive search may hold: four fifths of the
// program's memory limit, so that the search ends with a report before the system kills it. The
// memory limit is GOMEMLIMIT, or else nine tenths of the memory of the machine or its control
// group, which DefaultMemoryLimit sets. It returns 0 if none is known.
func DefaultMemoryLimit() int64 {
	limit, err := memlimit.Set(memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup,
		memlimit.FromSystem)))
	if err != nil || limit == math.MaxInt64 {
		return 0
	}
	return limit / 5 * 4
}

// memoryEvery is how many schedules pass between two checks of the memory limit.
const memoryEvery = 64

// A memoryGauge measures the memory that the program holds.
type memoryGauge []metrics.Sample

func newMemoryGauge() memoryGauge {
	return memoryGauge{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
}

// bytes returns the heap that survived the last garbage collection, plus goroutine stacks.
func (h memoryGauge) bytes() (held int64) {
	metrics.Read(h)
	for i := range h {
		held += int64(h[i].Value.Uint64())
	}
	return held
}

// memoryExhausted reports whether the search holds as much memory as it may.
func (x *dfs) memoryExhausted(schedules int) bool {
	return x.search.MemoryLimit > 0 && schedules%memoryEvery == 0 &&
		x.memory.bytes() >= x.search.MemoryLimit
}

// GCPercent is the garbage collection target percentage for programs that search. It lets the heap
// grow to a little more than twice its live data. States take most of that and have no pointers, so
// that a collection costs little.
const GCPercent = 125
