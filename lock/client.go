package lock

import (
	"errors"

	"github.com/go-zookeeper/zk"
)

// Client is the part of a ZooKeeper client that a [Session] needs. *zk.Conn of
// github.com/go-zookeeper/zk implements it. The methods are called concurrently. Any other
// implementation must return the errors of *zk.Conn, and zk.ErrNoServer only for a request that was
// never sent.
type Client interface {
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	Delete(path string, version int32) error
	Exists(path string) (bool, *zk.Stat, error)
	Get(path string) ([]byte, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	Set(path string, data []byte, version int32) (*zk.Stat, error)
	Children(path string) ([]string, *zk.Stat, error)
	Multi(operations ...any) ([]zk.MultiResponse, error)
	Sync(path string) (string, error)
	SessionID() int64
	State() zk.State
	Close()
}

// refused reports whether ZooKeeper has rejected the request, so that a retry is useless. After any
// other error the request may have been carried out.
func refused(err error) bool {
	for _, final := range [...]error{
		zk.ErrNoAuth, zk.ErrAuthFailed, zk.ErrInvalidACL, zk.ErrInvalidPath, zk.ErrBadArguments,
		zk.ErrInvalidFlags,
		zk.ErrNoChildrenForEphemerals, zk.ErrClosing,
	} {
		if errors.Is(err, final) {
			return true
		}
	}
	return false
}
