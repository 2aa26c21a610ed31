package library

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// CompareSimultaneous orders requests that a process sent at the same time, by their whole content.
func CompareSimultaneous(a, b *wire.Request) int {
	if order := compareRequests(a, b); order != 0 {
		return order
	}
	return bytes.Compare(Encoded(a), Encoded(b))
}

// Encoded returns a request's encoding without its xid.
func Encoded(r *wire.Request) []byte {
	unnumbered := *r
	unnumbered.Xid = 0
	return operation.AppendRequest(nil, &unnumbered)
}

// compareRequests orders requests that a process sent at the same time. The client library's own
// requests come last: they queue behind the waiting calls.
func compareRequests(a, b *wire.Request) int {
	return cmp.Or(cmp.Compare(Rank(a), Rank(b)), strings.Compare(a.Path, b.Path),
		strings.Compare(string(a.Data), string(b.Data)),
		cmp.Compare(a.Version, b.Version), cmp.Compare(a.Flags, b.Flags))
}

// Rank returns the place of a request among simultaneous ones: twice the number of the operation,
// and one more with a watch.
func Rank(r *wire.Request) int {
	rank := 2 * int(r.Op)
	if r.Watch {
		rank++
	}
	return rank
}

// SortWatches sorts the watches of SetWatches. The client library keeps them in a map.
func SortWatches(w *wire.Watches) {
	for _, paths := range [...][]string{w.Data, w.Exist, w.Child, w.Persistent, w.Recursive} {
		slices.Sort(paths)
	}
}
