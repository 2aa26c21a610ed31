package subjects

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client"
)

// Prefixed is the production lock on a client that adds a prefix to each path, as programs do
// because go-zookeeper/zk knows no chroot.
func Prefixed() scenarios.Subject {
	s := production("prefixed", "lock.Mutex on a client that adds a prefix to each path",
		func(p *scenarios.Process) (lockFunc, error) {
			mutex, err := lock.NewMutex(newSession(p, prefixedClient{p.Client, p.Directory}),
				"/queue", options(p)...)
			if err != nil {
				return nil, err
			}
			return func(ctx context.Context) (*scenarios.Hold, error) {
				lease, err := mutex.Lock(ctx)
				h, err := hold(lease, err)
				if err == nil {
					h.Node = p.Directory + h.Node
				}
				return h, err
			}, nil
		})
	// The first attempt also creates the directory.
	s.Limits.Requests = 12
	return s
}

// A prefixedClient adds a prefix to each path of a lock's requests. The path that Create returns
// has the prefix.
type prefixedClient struct {
	client.Client
	prefix string
}

func (p prefixedClient) Create(path string, data []byte, flags int32, acl []zk.ACL) (string,
	error,
) {
	return p.Client.Create(p.prefix+path, data, flags, acl)
}

func (p prefixedClient) Delete(path string, version int32) error {
	return p.Client.Delete(p.prefix+path, version)
}

func (p prefixedClient) Exists(path string) (bool, *zk.Stat, error) {
	return p.Client.Exists(p.prefix + path)
}

func (p prefixedClient) Get(path string) ([]byte, *zk.Stat, error) {
	return p.Client.Get(p.prefix + path)
}

func (p prefixedClient) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return p.Client.GetW(p.prefix + path)
}

func (p prefixedClient) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	return p.Client.Set(p.prefix+path, data, version)
}

func (p prefixedClient) Children(path string) ([]string, *zk.Stat, error) {
	return p.Client.Children(p.prefix + path)
}

func (p prefixedClient) Multi(operations ...any) ([]zk.MultiResponse, error) {
	prefixed := make([]any, len(operations))
	for i, operation := range operations {
		switch o := operation.(type) {
		case *zk.CheckVersionRequest:
			prefixed[i] = &zk.CheckVersionRequest{Path: p.prefix + o.Path, Version: o.Version}
		case *zk.SetDataRequest:
			prefixed[i] = &zk.SetDataRequest{
				Path: p.prefix + o.Path, Data: o.Data, Version: o.Version,
			}
		case *zk.DeleteRequest:
			prefixed[i] = &zk.DeleteRequest{Path: p.prefix + o.Path, Version: o.Version}
		default:
			panic(fmt.Sprintf("%T is no operation of a lock", operation))
		}
	}
	return p.Client.Multi(prefixed...)
}

func (p prefixedClient) Sync(path string) (string, error) { return p.Client.Sync(p.prefix + path) }
