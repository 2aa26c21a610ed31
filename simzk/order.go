package simzk

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/simzk/operation"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// compareSimultaneous orders requests that a process sent at the same time, by their whole content.
func compareSimultaneous(a, b *wire.Request) int {
	if order := compareRequests(a, b); order != 0 {
		return order
	}
	return bytes.Compare(encoded(a), encoded(b))
}

// encoded returns a request's encoding without its xid.
func encoded(r *wire.Request) []byte {
	unnumbered := *r
	unnumbered.Xid = 0
	return operation.AppendRequest(nil, &unnumbered)
}

// compareRequests orders requests that a process sent at the same time. The client library's own
// requests come last: they queue behind the waiting calls.
func compareRequests(a, b *wire.Request) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Path, b.Path),
		strings.Compare(string(a.Data), string(b.Data)),
		cmp.Compare(a.Version, b.Version), cmp.Compare(a.Flags, b.Flags))
}

func rank(r *wire.Request) int {
	rank := 2 * int(r.Op)
	if r.Watch {
		rank++
	}
	return rank
}

// sortWatches sorts the watches of SetWatches. The client library keeps them in a map.
func sortWatches(w *wire.Watches) {
	for _, paths := range [...][]string{w.Data, w.Exist, w.Child, w.Persistent, w.Recursive} {
		slices.Sort(paths)
	}
}
