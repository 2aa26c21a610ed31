// Package client says what the clients of a simulated ZooKeeper offer to lock code.
//
//   - Package model is a model of github.com/go-zookeeper/zk v1.0.4, without goroutines of its own.
//   - Package real runs that client itself, over connections in memory.
package client

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// A Client is the connection of the lock code under test, model or real: methods of *zk.Conn, and
// the channel that zk.Connect returns beside it. Any goroutine of the client's process may call
// them. A goroutine that calls one after its process has crashed, or after the run has ended,
// exits.
type Client interface {
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	CreateProtectedEphemeralSequential(path string, data []byte, acl []zk.ACL) (string, error)
	CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	CreateTTL(path string, data []byte, flags int32, acl []zk.ACL, ttl time.Duration) (string,
		error)
	Delete(path string, version int32) error
	Set(path string, data []byte, version int32) (*zk.Stat, error)
	Get(path string) ([]byte, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	Exists(path string) (bool, *zk.Stat, error)
	ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error)
	Children(path string) ([]string, *zk.Stat, error)
	ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error)
	GetACL(path string) ([]zk.ACL, *zk.Stat, error)
	SetACL(path string, acl []zk.ACL, version int32) (*zk.Stat, error)
	AddAuth(scheme string, auth []byte) error
	Multi(ops ...any) ([]zk.MultiResponse, error)
	Sync(path string) (string, error)
	State() zk.State
	SessionID() int64
	Close()

	// Events returns the channel of session states and watch events.
	Events() <-chan zk.Event
}
