package check

import (
	"slices"

	"github.com/interlock-sim/interlock/history"
)

// slowNames are the names of the Faults from which on the messages of a process, or those to it,
// take time until the run ends.
var slowNames = []string{"slow-link", "slow-requests", "slow-replies"}

// slowProcesses are those on a slow link. They need not get the lock: what it promises may need
// faster answers. But they must not keep others from it.
type slowProcesses []int32

// observe notes the process that an event makes slow.
func (s *slowProcesses) observe(e *history.Event) {
	if e.Kind == history.Fault && slices.Contains(slowNames, e.Name) && !s.has(e.Process) {
		*s = append(*s, e.Process)
	}
}

func (s slowProcesses) has(process int32) bool { return slices.Contains(s, process) }

// key does not depend on the order in which processes became slow.
func (s slowProcesses) key() (sum uint64) {
	for _, process := range s {
		sum += scatter(uint64(process))
	}
	return sum
}
