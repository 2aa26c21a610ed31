package real

import (
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
)

// Create calls the client's method.
func (r *Conn) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Create(path, data, flags, acl)
}

// CreateContainer calls the client's method.
func (r *Conn) CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (string,
	error,
) {
	r.beginCall()
	defer r.endCall()
	return r.zk.CreateContainer(path, data, flags, acl)
}

// CreateTTL calls the client's method.
func (r *Conn) CreateTTL(path string, data []byte, flags int32, acl []zk.ACL,
	ttl time.Duration,
) (string, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.CreateTTL(path, data, flags, acl, ttl)
}

// CreateProtectedEphemeralSequential calls the client's method. Between [Determinize] and its end,
// the node has the GUID that a model client would give it.
func (r *Conn) CreateProtectedEphemeralSequential(path string, data []byte,
	acl []zk.ACL,
) (string, error) {
	r.beginCall()
	defer r.endCall()
	if library.ValidPath(path, true) { // Otherwise the client fails before it reads a GUID.
		first := r.firstClient()
		guid := first.guids.Next(first.link.Process())
		if thread := r.cluster.Thread(); thread != 0 {
			r.threads.protect(thread, guid)
		}
		guids.offer(guid)
	}
	return r.zk.CreateProtectedEphemeralSequential(path, data, acl)
}

// Delete calls the client's method.
func (r *Conn) Delete(path string, version int32) error {
	r.beginCall()
	defer r.endCall()
	return r.zk.Delete(path, version)
}

// Set calls the client's method.
func (r *Conn) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Set(path, data, version)
}

// Get calls the client's method.
func (r *Conn) Get(path string) ([]byte, *zk.Stat, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Get(path)
}

// GetW calls the client's method.
func (r *Conn) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.GetW(path)
}

// Exists calls the client's method.
func (r *Conn) Exists(path string) (bool, *zk.Stat, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Exists(path)
}

// ExistsW calls the client's method.
func (r *Conn) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.ExistsW(path)
}

// Children calls the client's method.
func (r *Conn) Children(path string) ([]string, *zk.Stat, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Children(path)
}

// ChildrenW calls the client's method.
func (r *Conn) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.ChildrenW(path)
}

// GetACL calls the client's method.
func (r *Conn) GetACL(path string) ([]zk.ACL, *zk.Stat, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.GetACL(path)
}

// SetACL calls the client's method.
func (r *Conn) SetACL(path string, acl []zk.ACL, version int32) (*zk.Stat, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.SetACL(path, acl, version)
}

// AddAuth calls the client's method.
func (r *Conn) AddAuth(scheme string, auth []byte) error {
	r.beginCall()
	defer r.endCall()
	return r.zk.AddAuth(scheme, auth)
}

// Multi calls the client's method.
func (r *Conn) Multi(ops ...any) ([]zk.MultiResponse, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Multi(ops...)
}

// Sync calls the client's method.
func (r *Conn) Sync(path string) (string, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Sync(path)
}

// State returns the state of the connection.
func (r *Conn) State() zk.State { return r.zk.State() }

// SessionID returns the session's id, 0 while there is none.
func (r *Conn) SessionID() int64 { return r.zk.SessionID() }

// Close ends the session.
func (r *Conn) Close() {
	r.beginCall()
	defer r.endCall()
	r.closeOnce()
}
