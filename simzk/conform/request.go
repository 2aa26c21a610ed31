package conform

import (
	"crypto/sha1"
	"encoding/base64"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// anyVersion matches every version.
const anyVersion = -1

// open grants everyone all permissions.
var open = operation.Open

// digest returns ZooKeeper's id of a user and password.
func digest(user, password string) string {
	sum := sha1.Sum([]byte(user + ":" + password))
	return user + ":" + base64.StdEncoding.EncodeToString(sum[:])
}

func create(path string) *wire.Request {
	return createFlags(path, wire.Persistent)
}

func createFlags(path string, flags int32) *wire.Request {
	return createOp(wire.OpCreate, path, flags)
}

func createOp(op wire.Op, path string, flags int32) *wire.Request {
	return &wire.Request{Op: op, Path: path, Data: []byte("x"), ACL: open, Flags: flags}
}

func createACL(path string, acl ...wire.ACL) *wire.Request {
	r := create(path)
	r.ACL = acl
	return r
}

func createTTL(path string, flags int32, milliseconds int64) *wire.Request {
	r := createOp(wire.OpCreateTTL, path, flags)
	r.TTLMillis = milliseconds
	return r
}

func deleteNode(path string) *wire.Request {
	return &wire.Request{Op: wire.OpDelete, Path: path, Version: anyVersion}
}

func setData(path string, data []byte, version int32) *wire.Request {
	return &wire.Request{Op: wire.OpSetData, Path: path, Data: data, Version: version}
}

// setAny sets arbitrary data.
func setAny(path string) *wire.Request {
	return setData(path, []byte("1"), anyVersion)
}

func setACL(path string, version int32, acl ...wire.ACL) *wire.Request {
	return &wire.Request{Op: wire.OpSetACL, Path: path, ACL: acl, Version: version}
}

func check(path string, version int32) *wire.Request {
	return &wire.Request{Op: wire.OpCheck, Path: path, Version: version}
}

// read returns a read request without a watch.
func read(op wire.Op, path string) *wire.Request {
	return &wire.Request{Op: op, Path: path}
}

// watch returns a read request with a watch.
func watch(op wire.Op, path string) *wire.Request {
	return &wire.Request{Op: op, Path: path, Watch: true}
}

// watches returns a request that adds, removes or checks watches.
func watches(op wire.Op, path string, mode int32) *wire.Request {
	return &wire.Request{Op: op, Path: path, Mode: mode}
}

func authenticate(scheme, credentials string) *wire.Request {
	return &wire.Request{Op: wire.OpAuth, Scheme: scheme, Data: []byte(credentials)}
}

func multi(ops ...*wire.Request) *wire.Request {
	r := &wire.Request{Op: wire.OpMulti}
	for _, op := range ops {
		r.Ops = append(r.Ops, *op)
	}
	return r
}
