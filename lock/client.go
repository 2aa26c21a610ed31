package lock

import (
	"errors"

	"github.com/go-zookeeper/zk"
)

// Client is what the locks need of ZooKeeper. *zk.Conn of github.com/go-zookeeper/zk satisfies it.
// Several goroutines call its methods at the same time. Two locks are taken to be on the same
// connection if their clients are equal. Any other client must return the errors that *zk.Conn
// does, and zk.ErrNoServer only for a request that was never sent.
type Client interface {
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	Delete(path string, version int32) error
	Exists(path string) (bool, *zk.Stat, error)
	Get(path string) ([]byte, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	Set(path string, data []byte, version int32) (*zk.Stat, error)
	Children(path string) ([]string, *zk.Stat, error)
	Sync(path string) (string, error)
	SessionID() int64
	State() zk.State
}

// refused tells whether ZooKeeper has said no, so that trying again is useless. Every other error
// leaves open whether the request was carried out.
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
