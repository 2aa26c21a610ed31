package client

import (
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// Connecting returns the client of a process as zk.Connect returns one, which has not connected
// yet: the first State is zk.StateDisconnected. Code such as lock.NewSession can then conclude that
// the connection began after the call. A process has its client from the moment at which its run
// begins, so that is true.
func Connecting(c Client) Client { return &connecting{Client: c} }

type connecting struct {
	Client
	asked atomic.Bool
}

func (c *connecting) State() zk.State {
	if !c.asked.Swap(true) {
		return zk.StateDisconnected
	}
	return c.Client.State()
}
