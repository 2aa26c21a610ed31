package simzk

import (
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// reconfigure answers a request for other members of the ensemble, as a server does that does not allow it.
func (c *Cluster) reconfigure(*Link, *request) tree.Result {
	return tree.Result{Code: wire.ReconfigDisabled}
}
