package scenarios

import (
	"math"
	"runtime/metrics"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// DefaultMemoryLimit returns how many bytes an exhaustive search may hold before it had better end,
// or the system would end it and what it has found would be lost: four fifths of the program's
// memory limit. That is GOMEMLIMIT, or else nine tenths of what the machine or its control group
// has, to which the limit is set. It returns 0 where nobody knows that.
func DefaultMemoryLimit() int64 {
	limit, err := memlimit.Set(memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup,
		memlimit.FromSystem)))
	if err != nil || limit == math.MaxInt64 {
		return 0
	}
	return limit / 5 * 4
}

// heapEvery is how many schedules of an exhaustive search there are for one after which it looks at
// what the program holds.
const memoryEvery = 64

// A memoryGauge is what the program holds in memory.
type memoryGauge []metrics.Sample

func newMemoryGauge() memoryGauge {
	return memoryGauge{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
}

// bytes returns how much the last garbage collection has left, and what the stacks of goroutines
// take.
func (h memoryGauge) bytes() (held int64) {
	metrics.Read(h)
	for i := range h {
		held += int64(h[i].Value.Uint64())
	}
	return held
}

// memoryExhausted tells, after so many schedules, whether the search holds as much as it may.
func (x *dfs) memoryExhausted(schedules int) bool {
	return x.search.MemoryLimit > 0 && schedules%memoryEvery == 0 &&
		x.memory.bytes() >= x.search.MemoryLimit
}
