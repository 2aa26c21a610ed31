package scenarios

import (
	"context"

	"github.com/interlock-sim/interlock/sim"
)

// Forfeit says that a call of Lock gives up its place in the queue, for a reason that is not in the
// lock: the service has answered too slowly for its process to hold the lock, or the call has lost
// another lock that it needs. From then on, and until the process queues again,
// [history.NoStarvation] lets others overtake it. The lock calls Forfeit before it removes the
// node. The context is that of the call of Lock, or has its values. With one that is not of a run,
// and when no call of Lock is open, Forfeit does nothing.
func Forfeit(ctx context.Context) {
	if recorder, simulated := sim.CallRecorderOf(ctx); simulated {
		recorder.Forfeit()
	}
}
