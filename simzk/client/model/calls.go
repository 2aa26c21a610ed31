package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk/client/internal/library"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// Create creates a node and returns its path, which for a sequential node ends in its number.
func (c *Conn) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if err := checkCreate(path, flags); err != nil {
		return "", c.failLocally(err)
	}
	if hasTTL(flags) {
		return "", c.failLocally(fmt.Errorf("Create with TTL flag disallowed: %w",
			zk.ErrInvalidFlags))
	}
	return c.create(wire.Request{
		Op: wire.OpCreate, Path: path, Data: data, Flags: flags,
		ACL: wireACL(acl),
	})
}

// CreateContainer creates a container, which the server deletes some time after its last child. The
// flags must be those of a container.
func (c *Conn) CreateContainer(path string, data []byte, flags int32, acl []zk.ACL) (string,
	error,
) {
	if err := checkCreate(path, flags); err != nil {
		return "", c.failLocally(err)
	}
	if flags != zk.FlagContainer {
		return "", c.failLocally(fmt.Errorf("CreateContainer requires container flag: %w",
			zk.ErrInvalidFlags))
	}
	return c.create(wire.Request{
		Op: wire.OpCreateContainer, Path: path, Data: data, Flags: flags,
		ACL: wireACL(acl),
	})
}

// CreateTTL creates a node that the server deletes once it has had no change and no children for
// the TTL. The flags must be those of a TTL node.
func (c *Conn) CreateTTL(path string, data []byte, flags int32, acl []zk.ACL,
	ttl time.Duration,
) (string, error) {
	if err := checkCreate(path, flags); err != nil {
		return "", c.failLocally(err)
	}
	if !hasTTL(flags) {
		return "", c.failLocally(fmt.Errorf("CreateTTL requires TTL flag: %w", zk.ErrInvalidFlags))
	}
	return c.create(wire.Request{
		Op: wire.OpCreateTTL, Path: path, Data: data, Flags: flags,
		ACL: wireACL(acl), TTLMillis: ttl.Milliseconds(),
	})
}

// checkCreate validates the arguments that all creates share.
func checkCreate(path string, flags int32) error {
	if flags < zk.FlagPersistent || flags > zk.FlagPersistentSequentialWithTTL {
		return fmt.Errorf("invalid flag value: [%v]", flags)
	}
	sequential := flags == zk.FlagSequence || flags == zk.FlagEphemeralSequential ||
		flags == zk.FlagPersistentSequentialWithTTL
	if !library.ValidPath(path, sequential) {
		return zk.ErrInvalidPath
	}
	return nil
}

func hasTTL(flags int32) bool {
	return flags == zk.FlagTTL || flags == zk.FlagPersistentSequentialWithTTL
}

func (c *Conn) create(req wire.Request) (string, error) {
	req.Data = slices.Clone(req.Data)
	r := c.submit(req)
	return r.answer.Path, r.err
}

// protectedPrefix is the prefix of a protected node's name. The GUID follows it.
const protectedPrefix = "_c_"

// CreateProtectedEphemeralSequential creates a node whose name contains a GUID, by which the client
// finds the node again after a lost reply. Like go-zookeeper/zk, it gives up if the search fails,
// and after three attempts, and it panics on a child whose name has the prefix of a protected node
// but is shorter than a GUID.
func (c *Conn) CreateProtectedEphemeralSequential(path string, data []byte, acl []zk.ACL) (string,
	error,
) {
	if !library.ValidPath(path, true) {
		return "", c.failLocally(zk.ErrInvalidPath)
	}
	i := strings.LastIndexByte(path, '/')
	directory := path[:i]
	first := c.firstClient()
	guid := fmt.Sprintf("%x", first.guids.Next(first.Process()))
	var err error
	for range 3 {
		var created string
		created, err = c.Create(directory+"/"+protectedPrefix+guid+"-"+path[i+1:], data,
			zk.FlagEphemeral|zk.FlagSequence, acl)
		switch err {
		case nil:
			return created, nil
		case zk.ErrSessionExpired:
		case zk.ErrConnectionClosed:
			children, _, err := c.Children(directory)
			if err != nil {
				return "", err
			}
			for _, name := range children {
				if strings.HasPrefix(name, protectedPrefix) &&
					name[len(protectedPrefix):len(protectedPrefix)+len(guid)] == guid {
					return directory + "/" + name, nil
				}
			}
		default:
			return "", err
		}
	}
	return "", err
}

// Delete deletes a node with the version, or with any version if that is -1.
func (c *Conn) Delete(path string, version int32) error {
	if !library.ValidPath(path, false) {
		return c.failLocally(zk.ErrInvalidPath)
	}
	return c.submit(wire.Request{Op: wire.OpDelete, Path: path, Version: version}).err
}

// Set sets the data of a node with the version, or with any version if that is -1.
func (c *Conn) Set(path string, data []byte, version int32) (*zk.Stat, error) {
	if !library.ValidPath(path, false) {
		return nil, c.failLocally(zk.ErrInvalidPath)
	}
	return stat(c.submit(wire.Request{
		Op: wire.OpSetData, Path: path, Data: slices.Clone(data),
		Version: version,
	}))
}

// Get returns the data of a node.
func (c *Conn) Get(path string) ([]byte, *zk.Stat, error) {
	if !library.ValidPath(path, false) {
		return nil, nil, c.failLocally(zk.ErrInvalidPath)
	}
	r := c.submit(wire.Request{Op: wire.OpGetData, Path: path})
	s, err := stat(r)
	return slices.Clone(r.answer.Data), s, err
}

// GetW returns the data of a node and sets a watch on it. If it returns an error, it sets no watch.
func (c *Conn) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	if !library.ValidPath(path, false) {
		return nil, nil, nil, c.failLocally(zk.ErrInvalidPath)
	}
	r := c.submit(wire.Request{Op: wire.OpGetData, Path: path, Watch: true})
	if r.err != nil {
		return nil, nil, nil, r.err
	}
	return slices.Clone(r.answer.Data), (*zk.Stat)(&r.answer.Stat), r.events, nil
}

// Exists reports whether a node exists.
func (c *Conn) Exists(path string) (bool, *zk.Stat, error) {
	if !library.ValidPath(path, false) {
		return false, nil, c.failLocally(zk.ErrInvalidPath)
	}
	r := c.submit(wire.Request{Op: wire.OpExists, Path: path})
	if r.err == zk.ErrNoNode {
		return false, (*zk.Stat)(&r.answer.Stat), nil
	}
	s, err := stat(r)
	return err != zk.ErrConnectionClosed, s, err
}

// ExistsW reports whether a node exists, and sets a watch on its creation or its change and
// deletion.
func (c *Conn) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	if !library.ValidPath(path, false) {
		return false, nil, nil, c.failLocally(zk.ErrInvalidPath)
	}
	r := c.submit(wire.Request{Op: wire.OpExists, Path: path, Watch: true})
	if r.err != nil && r.err != zk.ErrNoNode {
		return false, nil, nil, r.err
	}
	return r.err == nil, (*zk.Stat)(&r.answer.Stat), r.events, nil
}

// Children returns the names of a node's children, unordered.
func (c *Conn) Children(path string) ([]string, *zk.Stat, error) {
	if !library.ValidPath(path, false) {
		return nil, nil, c.failLocally(zk.ErrInvalidPath)
	}
	r := c.submit(wire.Request{Op: wire.OpGetChildren2, Path: path})
	s, err := stat(r)
	return names(r), s, err
}

// ChildrenW returns the names of a node's children, unordered, and sets a watch on them.
func (c *Conn) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	if !library.ValidPath(path, false) {
		return nil, nil, nil, c.failLocally(zk.ErrInvalidPath)
	}
	r := c.submit(wire.Request{Op: wire.OpGetChildren2, Path: path, Watch: true})
	if r.err != nil {
		return nil, nil, nil, r.err
	}
	return names(r), (*zk.Stat)(&r.answer.Stat), r.events, nil
}

// names returns the children in a reply, nil only if the call failed.
func names(r *call) []string {
	if r.err == nil && r.answer.Children == nil {
		return []string{}
	}
	return r.answer.Children
}

// GetACL returns the ACL of a node.
func (c *Conn) GetACL(path string) ([]zk.ACL, *zk.Stat, error) {
	if !library.ValidPath(path, false) {
		return nil, nil, c.failLocally(zk.ErrInvalidPath)
	}
	r := c.submit(wire.Request{Op: wire.OpGetACL, Path: path})
	s, err := stat(r)
	if err != nil {
		return nil, s, err
	}
	return clientACL(r.answer.ACL), s, nil
}

// SetACL sets the ACL of a node with the ACL version, or with any version if that is -1.
func (c *Conn) SetACL(path string, acl []zk.ACL, version int32) (*zk.Stat, error) {
	if !library.ValidPath(path, false) {
		return nil, c.failLocally(zk.ErrInvalidPath)
	}
	return stat(c.submit(wire.Request{
		Op: wire.OpSetACL, Path: path, ACL: wireACL(acl),
		Version: version,
	}))
}

// Sync returns once the server has applied every transaction committed before.
func (c *Conn) Sync(path string) (string, error) {
	if !library.ValidPath(path, false) {
		return "", c.failLocally(zk.ErrInvalidPath)
	}
	r := c.submit(wire.Request{Op: wire.OpSync, Path: path})
	return wire.Sent(r.answer.Path), r.err
}

// AddAuth adds an identity to the connection. The client resends credentials that the server has
// accepted on every new connection, before anything else.
func (c *Conn) AddAuth(scheme string, auth []byte) error {
	return c.submit(wire.Request{Op: wire.OpAuth, Scheme: scheme, Data: auth}).err
}

// Multi executes all of the operations or none. Their types must be *zk.CreateRequest,
// *zk.DeleteRequest, *zk.SetDataRequest or *zk.CheckVersionRequest. The client does not validate
// them further.
func (c *Conn) Multi(ops ...any) ([]zk.MultiResponse, error) {
	requests := c.allocOps(len(ops))
	for i, op := range ops {
		switch op := op.(type) {
		case *zk.CreateRequest:
			requests[i] = wire.Request{
				Op: wire.OpCreate, Path: op.Path, Data: slices.Clone(op.Data),
				ACL: wireACL(op.Acl), Flags: op.Flags,
			}
		case *zk.DeleteRequest:
			requests[i] = wire.Request{Op: wire.OpDelete, Path: op.Path, Version: op.Version}
		case *zk.SetDataRequest:
			requests[i] = wire.Request{
				Op: wire.OpSetData, Path: op.Path, Data: slices.Clone(op.Data),
				Version: op.Version,
			}
		case *zk.CheckVersionRequest:
			requests[i] = wire.Request{Op: wire.OpCheck, Path: op.Path, Version: op.Version}
		default:
			return nil, c.failLocally(fmt.Errorf("unknown operation type %T", op))
		}
	}
	r := c.submit(wire.Request{Op: wire.OpMulti, Ops: requests})
	if r.err == zk.ErrConnectionClosed {
		return nil, r.err
	}
	return multiResponses(r.answer.Results, r.err)
}

// allocOps returns memory for the operations of a multi.
func (c *Conn) allocOps(ops int) []wire.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ops.NextSlice(ops, opArenaSize)
}

// multiResponses returns the results of a multi, and the first error of an operation if the multi
// itself has none.
func multiResponses(results []wire.Result, err error) ([]zk.MultiResponse, error) {
	responses := make([]zk.MultiResponse, 0, len(results))
	for i := range results {
		result := &results[i]
		var response zk.MultiResponse
		switch result.Op {
		case wire.OpCreate:
			response.String = result.Path
		case wire.OpSetData:
			stat := zk.Stat(result.Stat)
			response.Stat = &stat
		case wire.OpDelete, wire.OpCheck:
		case wire.OpError:
			response.Error = clientError(result.Code)
		default:
			// The client cannot decode the result of a container's creation, and drops the rest.
			return responses, zk.ErrAPIError
		}
		responses = append(responses, response)
		if err == nil {
			err = response.Error
		}
	}
	return responses, err
}

// stat returns what *zk.Conn returns: a nil stat after a lost connection, a stat beside every other
// error.
func stat(r *call) (*zk.Stat, error) {
	if r.err == zk.ErrConnectionClosed {
		return nil, r.err
	}
	return (*zk.Stat)(&r.answer.Stat), r.err
}

// wireACL converts an ACL for the wire. It does not allocate for the usual, fully open ACL.
func wireACL(acl []zk.ACL) []wire.ACL {
	if len(acl) == 1 && wire.ACL(acl[0]) == tree.Open[0] {
		return tree.Open
	}
	converted := make([]wire.ACL, len(acl))
	for i, a := range acl {
		converted[i] = wire.ACL{
			Perms: a.Perms, Scheme: wire.Text([]byte(a.Scheme)),
			ID: wire.Text([]byte(a.ID)),
		}
	}
	return converted
}

// clientACL converts an ACL for the caller, as the client library does.
func clientACL(acl []wire.ACL) []zk.ACL {
	converted := make([]zk.ACL, len(acl))
	for i, a := range acl {
		converted[i] = zk.ACL{Perms: a.Perms, Scheme: a.Scheme, ID: wire.Sent(a.ID)}
	}
	return converted
}
