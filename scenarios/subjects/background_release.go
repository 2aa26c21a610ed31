package subjects

import (
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk/client"
)

// releaseInBackground deletes the node, and retries a failed delete in the background until it
// succeeds or the process ends, as a guaranteed delete of Curator does.
func (r *recipeLock) releaseInBackground() error {
	path := r.node
	switch err := r.client.Delete(path, -1); err {
	case nil:
	case zk.ErrNoNode:
		return errLost
	default:
		go deleteInBackground(r.ended, r.client, path, r.retriesNoNode)
	}
	return nil
}

// deleteInBackground retries a failed delete. The defect takes the answer that the node is gone for
// a failure too.
func deleteInBackground(ended <-chan struct{}, c client.Client, path string, retriesNoNode bool) {
	for {
		select {
		case <-ended:
			return
		case <-time.After(retryDelay):
		}
		if err := c.Delete(path, -1); err == nil || err == zk.ErrNoNode && !retriesNoNode {
			return
		}
	}
}
