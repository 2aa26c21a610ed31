package conform

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// mutations change a frame without its length. They may return it unchanged.
var mutations = []func(g *generator, frame []byte) []byte{
	flipBit, setByte, setInt, setInt, setType, truncate, extend, removeBytes, repeatBytes,
}

// mutate applies a few mutations to a frame, usually one.
func (g *generator) mutate(frame []byte) []byte {
	for again := true; again; again = g.percent(30) {
		if len(frame) > 0 {
			frame = mutations[g.IntN(len(mutations))](g, frame)
		}
	}
	return frame
}

func flipBit(g *generator, frame []byte) []byte {
	frame[g.IntN(len(frame))] ^= 1 << g.IntN(8)
	return frame
}

func setByte(g *generator, frame []byte) []byte {
	frame[g.IntN(len(frame))] = byte(g.IntN(256))
	return frame
}

// setInt replaces four bytes by a number on which decoders depend.
func setInt(g *generator, frame []byte) []byte {
	if len(frame) < 4 {
		return frame
	}
	n := oneOf[int32](g, -1, -2, 0, 1, 2, 3, 4, 5, 31, math.MaxInt32, math.MinInt32, wire.MaxFrame,
		wire.MaxFrame+1, int32(len(frame)), g.Int32N(64))
	binary.BigEndian.PutUint32(frame[g.IntN(len(frame)-3):], uint32(n))
	return frame
}

// setType replaces the type of a request.
func setType(g *generator, frame []byte) []byte {
	if len(frame) < requestHeaderLength {
		return frame
	}
	op := oneOf[wire.Op](g, wire.Op(g.IntN(24)), wire.OpAuth+wire.Op(g.IntN(9)),
		wire.Op(g.Int32N(300)-40))
	if g.percent(10) {
		op = oneOf(g, wire.OpCloseSession, wire.OpCreateSession)
	}
	binary.BigEndian.PutUint32(frame[4:], uint32(op))
	return frame
}

func truncate(g *generator, frame []byte) []byte { return frame[:g.IntN(len(frame))] }

func extend(g *generator, frame []byte) []byte {
	for range 1 + g.IntN(12) {
		frame = append(frame, byte(g.IntN(256)))
	}
	return frame
}

// chunk returns the bounds of a few bytes of a frame.
func chunk(g *generator, frame []byte) (from, to int) {
	from = g.IntN(len(frame))
	return from, min(len(frame), from+1+g.IntN(8))
}

func removeBytes(g *generator, frame []byte) []byte {
	from, to := chunk(g, frame)
	return slices.Delete(frame, from, to)
}

func repeatBytes(g *generator, frame []byte) []byte {
	from, to := chunk(g, frame)
	return slices.Insert(frame, from, slices.Clone(frame[from:to])...)
}

// The reasons for which a frame is not compared: real servers answer it in a way that the
// simulation does not have, or the answer depends on more than the run.
const (
	listedEvent    = "a request with the number of events"
	listedOutside  = "a path outside of the run"
	listedTTL      = "a node with a negative TTL and no flag for one, with which 3.8.0 ends"
	listedAddWatch = "addWatch with a null path, with which 3.8.0 ends"
	// When the connection ends, the server keeps a count of recursive watches, on which
	// checkWatches of a relative path depends from then on.
	listedPersistent = "a persistent watch of a null path, with which a connection ends badly"
	listedRelative   = "checkWatches of a relative path, which depends on earlier connections"
	listedMulti      = "a multi with a null path"
	listedVector     = "setWatches with a null vector"
)

// listed returns the reason for which a request is not compared, or "".
func listed(root string, frame []byte) string {
	r := new(wire.Request)
	err := operation.DecodeRequest(frame, r)
	null := func(r wire.Request) bool { return r.Path == wire.Null }
	switch isOutside := outside(root); {
	case len(frame) >= 4 && int32(binary.BigEndian.Uint32(frame)) == wire.XidEvent:
		return listedEvent
	case r.Op == wire.OpAddWatch && r.Path == wire.Null:
		return listedAddWatch
	case r.Watches != nil && slices.Contains(
		slices.Concat(r.Watches.Persistent, r.Watches.Recursive), wire.Null):
		return listedPersistent
	case r.Op == wire.OpCheckWatches && !strings.HasPrefix(r.Path, "/"):
		return listedRelative
	case (r.Op == wire.OpMulti || r.Op == wire.OpMultiRead) && slices.ContainsFunc(r.Ops, null):
		return listedMulti
	case hasNullVector(err):
		return listedVector
	case endsServer(r),
		slices.ContainsFunc(r.Ops, func(r wire.Request) bool { return endsServer(&r) }):
		return listedTTL
	case hasPath(r, err) && isOutside(r.Path),
		slices.ContainsFunc(r.Ops, func(r wire.Request) bool { return isOutside(r.Path) }):
		return listedOutside
	case r.Watches != nil && slices.ContainsFunc(slices.Concat(r.Watches.Data, r.Watches.Exist,
		r.Watches.Child, r.Watches.Persistent, r.Watches.Recursive), isOutside):
		return listedOutside
	}
	return ""
}

// outside returns a function that reports whether a path is a node outside of the root. The empty
// path is a second name of the root of the tree.
func outside(root string) func(string) bool {
	return func(path string) bool {
		return (path == "" || path[0] == '/') && path != root && !strings.HasPrefix(path, root+"/")
	}
}

// hasPath reports whether a request that was decoded with an error has a path.
func hasPath(r *wire.Request, err error) bool {
	return r.Path != "" || err == nil &&
		slices.Contains(operation.Of(r.Op).Request, wire.FieldPath)
}

// hasNullVector reports whether a request is malformed by a null vector.
func hasNullVector(err error) bool { return errors.Is(err, wire.ErrNull) }

// endsServer reports whether a create makes release 3.8.0 end.
func endsServer(r *wire.Request) bool {
	return r.Op == wire.OpCreateTTL && r.TTLMillis < 0 &&
		r.Flags != wire.PersistentTTL && r.Flags != wire.PersistentSeqTTL
}
