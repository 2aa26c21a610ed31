package simzk

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// Create does what the client's Create does.
func (r *RealConn) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Create(path, data, flags, acl)
}

// CreateContainer does what the client's CreateContainer does.
func (r *RealConn) CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (string,
	error,
) {
	r.beginCall()
	defer r.endCall()
	return r.zk.CreateContainer(path, data, flags, acl)
}

// CreateTTL does what the client's CreateTTL does.
func (r *RealConn) CreateTTL(path string, data []byte, flags int32, acl []zk.ACL,
	ttl time.Duration,
) (string, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.CreateTTL(path, data, flags, acl, ttl)
}

// CreateProtectedEphemeralSequential does what the client's does. Between [Determinize] and its end
// the node's name holds the GUID that a modelled client would give it.
func (r *RealConn) CreateProtectedEphemeralSequential(path string, data []byte,
	acl []zk.ACL,
) (string, error) {
	r.beginCall()
	defer r.endCall()
	if validClientPath(path, true) { // or else the client does not come to want a GUID
		guids.offer(r.link.nextGUID())
	}
	return r.zk.CreateProtectedEphemeralSequential(path, data, acl)
}

// Delete does what the client's Delete does.
func (r *RealConn) Delete(path string, version int32) error {
	r.beginCall()
	defer r.endCall()
	return r.zk.Delete(path, version)
}

// Set does what the client's Set does.
func (r *RealConn) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Set(path, data, version)
}

// Get does what the client's Get does.
func (r *RealConn) Get(path string) ([]byte, *zk.Stat, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Get(path)
}

// GetW does what the client's GetW does.
func (r *RealConn) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.GetW(path)
}

// Exists does what the client's Exists does.
func (r *RealConn) Exists(path string) (bool, *zk.Stat, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Exists(path)
}

// ExistsW does what the client's ExistsW does.
func (r *RealConn) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.ExistsW(path)
}

// Children does what the client's Children does.
func (r *RealConn) Children(path string) ([]string, *zk.Stat, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Children(path)
}

// ChildrenW does what the client's ChildrenW does.
func (r *RealConn) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.ChildrenW(path)
}

// GetACL does what the client's GetACL does.
func (r *RealConn) GetACL(path string) ([]zk.ACL, *zk.Stat, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.GetACL(path)
}

// SetACL does what the client's SetACL does.
func (r *RealConn) SetACL(path string, acl []zk.ACL, version int32) (*zk.Stat, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.SetACL(path, acl, version)
}

// AddAuth does what the client's AddAuth does.
func (r *RealConn) AddAuth(scheme string, auth []byte) error {
	r.beginCall()
	defer r.endCall()
	return r.zk.AddAuth(scheme, auth)
}

// Multi does what the client's Multi does.
func (r *RealConn) Multi(ops ...any) ([]zk.MultiResponse, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Multi(ops...)
}

// Sync does what the client's Sync does.
func (r *RealConn) Sync(path string) (string, error) {
	r.beginCall()
	defer r.endCall()
	return r.zk.Sync(path)
}

// State returns the state of the connection.
func (r *RealConn) State() zk.State { return r.zk.State() }

// SessionID returns the session's id, 0 while there is none.
func (r *RealConn) SessionID() int64 { return r.zk.SessionID() }

// Close ends the session.
func (r *RealConn) Close() {
	r.beginCall()
	defer r.endCall()
	r.closeOnce()
}
