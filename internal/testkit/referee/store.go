package referee

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/simzk/client"
)

// A Store is what the program of a process uses. A path is "" if the process has created nothing.
type Store interface {
	Path(name string) string
	// Use runs an operation. It returns the path of what it has created, and whether it succeeded.
	Use(ctx context.Context, op *Op, path string) (made string, ok bool)
}

// A Backend lets programs use a service other than ZooKeeper.
type Backend struct {
	Service sim.Service
	// Open returns the store of a process. The store calls the function for each instant at which
	// data expire that the service does not let expire itself.
	Open func(p *scenarios.Process, expireAt func(time.Time)) Store
}

// Backends are the known services other than ZooKeeper. [Dimensions] omits dimensions of others.
var Backends = map[Service]Backend{}

func newStore(l *Lock, p *scenarios.Process) Store {
	if l.Service != ZooKeeper {
		return Backends[l.Service].Open(p, l.clock.expireAt)
	}
	return &nodes{p, p.Client, &l.clock}
}

// nodes are the store of ZooKeeper.
type nodes struct {
	*scenarios.Process
	client client.Client
	clock  *clock
}

func (n *nodes) Path(name string) string { return n.Directory + "/" + name }

func (n *nodes) Use(ctx context.Context, op *Op, path string) (made string, ok bool) {
	c := n.client
	switch op.Do {
	case Create, Keep:
		flags := int32(0)
		if op.Do == Create {
			flags = zk.FlagEphemeral
		}
		if path == "" {
			path = n.Path(fmt.Sprintf("n%d", n.Number))
		}
		return n.create(path, flags)
	case Sequence:
		return n.create(n.Path("s-"), zk.FlagEphemeral|zk.FlagSequence)
	case Sync:
		_, err := c.Sync(n.Directory)
		return "", err == nil
	case Alone:
		children, _, err := c.Children(n.Directory)
		return "", err == nil && len(children) < 2
	case Connect:
		return "", n.connect(ctx)
	}
	if path == "" {
		return "", false
	}
	switch op.Do {
	case Delete:
		return "", c.Delete(path, -1) == nil
	case Set:
		_, err := c.Set(path, []byte("1"), -1)
		return "", err == nil
	case Get:
		data, _, err := c.Get(path)
		return "", err == nil && string(data) == "1"
	case Own:
		data, _, err := c.Get(path)
		return "", err == nil && string(data) == n.Name()
	case Exists:
		there, _, err := c.Exists(path)
		return "", err == nil && there
	case Swap:
		_, err := c.Multi(&zk.DeleteRequest{Path: path, Version: -1}, &zk.CreateRequest{
			Path: path, Data: []byte(n.Name()), Flags: zk.FlagEphemeral, Acl: worldACL,
		})
		return "", err == nil
	case Await:
		return "", n.await(ctx, path)
	}
	panic(fmt.Sprintf("referee: ZooKeeper does not %q", op.Do))
}

var worldACL = zk.WorldACL(zk.PermAll)

func (n *nodes) create(path string, flags int32) (made string, ok bool) {
	made, err := n.client.Create(path, []byte(n.Name()), flags, worldACL)
	return made, err == nil
}

// created returns the creation zxid of a node, or 0.
func (n *nodes) created(path string) int64 {
	if path == "" {
		return 0
	}
	_, stat, err := n.client.Exists(path)
	if err != nil || stat == nil {
		return 0
	}
	return stat.Czxid
}

func (n *nodes) await(ctx context.Context, path string) bool {
	there, _, events, err := n.client.ExistsW(path)
	if err != nil || !there {
		return false
	}
	select {
	case <-events:
		return true
	case <-ctx.Done():
		n.clock.fire()
		return false
	}
}

// connect opens a further client and waits until that has a session.
func (n *nodes) connect(ctx context.Context) bool {
	next, err := n.Connect()
	if err != nil {
		return false
	}
	n.client = next
	for {
		select {
		case e, open := <-next.Events():
			if !open || e.State == zk.StateHasSession {
				return open
			}
		case <-ctx.Done():
			return false
		}
	}
}

// watchDeletion returns a channel that is closed when a watch on the node fires.
func (n *nodes) watchDeletion(path string) (<-chan struct{}, error) {
	there, _, events, err := n.client.ExistsW(path)
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	if !there {
		close(done)
		return done, nil
	}
	go func() {
		select {
		case <-events:
			close(done)
		case <-n.Context().Done():
		}
	}()
	return done, nil
}

func (n *nodes) resource(path string) *scenarios.Resource {
	return &scenarios.Resource{
		Path: path,
		Read: func(context.Context) (int64, error) {
			_, stat, err := n.client.Get(path)
			if err != nil {
				return 0, err
			}
			return stat.Mzxid, nil
		},
		Write: func(context.Context) (int64, error) {
			stat, err := n.client.Set(path, []byte("1"), -1)
			if err != nil {
				return 0, err
			}
			return stat.Mzxid, nil
		},
	}
}
