package replay

import (
	"math"
	"time"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/sim"
)

// A LocalHistory is everything that has reached the code of one process, with times, and the
// process's reaction to the last of it. Lock code is deterministic, so equal local histories have
// equal reactions: the code runs once to find a reaction, and never again. The local histories of a
// process form a tree, whose root is its start.
//
// It is the number of a node in its [Cache], which has millions of them, few distinct steps between
// them, and few distinct reactions. 0 is none.
type LocalHistory uint32

// A node is what the cache stores of a local history. All but the parent are numbers of distinct
// values that nodes share.
type node struct {
	parent     LocalHistory // 0 at the start of a process
	step       uint32
	reaction   uint32 // with the bit executed; read and written atomically
	prediction uint32 // read and written atomically
}

// executed says of a node's reaction that it is final.
const executed = 1 << 31

// A step leads from a local history to the next.
type step struct {
	after time.Duration // time since the local history before
	// What reaches the process then, nil if nothing does: from the loop, and after that from its
	// client.
	inputs   []input
	received sim.Inputs
	hash     uint64 // over all of that
	resumes  bool   // a gate opens
}

// An input is one thing that reaches the code of a process, other than from its client.
type input struct {
	kind     inputKind
	register engine.Register // of resume: the register that the process finds
	resuming bool            // of resume: the process was paused until a moment ago
}

type inputKind uint8

const (
	resume        inputKind = iota + 1 // the gate opens
	cancelAttempt                      // the context of the attempt ends
	checkLoss                          // the loop asks whether the hold is lost
)

func (s *input) hash() uint64 {
	switch s.kind {
	case resume:
		if s.resuming {
			return s.register.Key(^uint64(resume))
		}
		return s.register.Key(uint64(resume))
	}
	return uint64(s.kind)
}

// stepHash returns a 64-bit hash of inputs that arrive after that time.
func stepHash(after time.Duration, inputs []input, client sim.StubClient) uint64 {
	h := uint64(after)
	for i := range inputs {
		h = hash64.Mix(h, inputs[i].hash())
	}
	if client.Waiting() {
		h = hash64.Mix(h, client.Hash())
	}
	return h
}

// A Prediction is what a process does by itself if nothing reaches it.
type Prediction struct {
	fires  time.Duration // when its first timer fires, or [Never]
	loses  bool          // its hold reports a loss
	Until  time.Duration // up to when anybody has asked whether a timer fires
	probed bool          // leaks is known
	leaks  bool          // a goroutine would outlive the end of the run; see [Cache.ProbeLeak]
}

// FiresWithin returns when the first timer fires, or [Never] if none does within the time.
func (p Prediction) FiresWithin(within time.Duration) time.Duration {
	if p.fires > within {
		return Never
	}
	return p.fires
}

// Loses reports whether the process's hold reports a loss that the process has not been told.
func (p Prediction) Loses() bool { return p.loses }

// join returns what two predictions for the same local history know together.
func (p Prediction) join(other Prediction) Prediction {
	p.Until = max(p.Until, other.Until)
	p.probed, p.leaks = p.probed || other.probed, p.leaks || other.leaks
	return p
}

// Never is later than any run.
const Never = time.Duration(math.MaxInt64)
