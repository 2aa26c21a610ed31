package conform_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/long"
	"github.com/interlock-sim/interlock/simzk/conform"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// options returns the options of a short run that uses all features enabled by StartReal.
func options(address, reference string) conform.Options {
	return conform.Options{
		Address: address, Reference: reference, Seed: 1, Operations: 5000, TTL: true,
		Containers: true,
		Super:      "super:test",
	}
}

func TestDifferRealAndReal(t *testing.T) {
	o := options(sharedReal(t, 0), sharedReal(t, 1))
	o.OneByOne, o.Operations = true, 1000
	if difference, _, err := conform.Differ(t.Context(), o); difference != nil || err != nil {
		t.Fatal(difference, err)
	}
	o.OneByOne, o.Operations = false, 6000 // more than one round
	var progress []int
	o.Progress = func(s conform.Stats) { progress = append(progress, s.Operations) }
	difference, stats, err := conform.Differ(t.Context(), o)
	if difference != nil || err != nil {
		t.Fatal(difference, err)
	}
	if stats.Operations != o.Operations || stats.Rounds != 2 || len(progress) != 2 ||
		progress[1] != o.Operations {
		t.Errorf("%d operations in %d rounds, progress %v", stats.Operations, stats.Rounds,
			progress)
	}
	// The absence of differences means little if most operations fail, or if some never do.
	if stats.Events < 300 || stats.Codes[wire.OK] < o.Operations/2 {
		t.Errorf("%d events and %d successful replies", stats.Events, stats.Codes[wire.OK])
	}
	for _, code := range []wire.Code{
		wire.NoNode, wire.NoAuth, wire.BadVersion, wire.NodeExists, wire.NotEmpty, wire.InvalidACL,
		wire.BadArguments, wire.MarshallingError, wire.NoWatcher, wire.NoChildrenForEphemerals,
	} {
		if stats.Codes[code] == 0 {
			t.Errorf("no reply has the code %q", code)
		}
	}
}

// swap swaps an event with the next message: with an event if withEvent is set, otherwise with a
// reply.
func swap(withEvent bool) func() mutator {
	return func() mutator {
		var held []byte
		return mutator{frame: func(frame []byte, event bool) [][]byte {
			first := held
			held = nil
			switch {
			case first == nil && event:
				held = frame
				return nil
			case first == nil:
				return [][]byte{frame}
			case event == withEvent:
				return [][]byte{frame, first}
			}
			return [][]byte{first, frame}
		}}
	}
}

func TestDifferFindsMutations(t *testing.T) {
	server, reference := sharedReal(t, 0), sharedReal(t, 1)
	reply := func(change func(wire.Op, *wire.Reply)) func() mutator {
		return func() mutator { return mutator{reply: change} }
	}
	for _, test := range long.Sample([]struct {
		name  string
		make  func() mutator
		steps int // maximum number of steps after shrinking
	}{
		{"one bit of a version", reply(func(op wire.Op, r *wire.Reply) {
			if op == wire.OpSetData {
				r.Stat.Version ^= 1
			}
		}), 5},
		{"zxid of a failed write", reply(func(op wire.Op, r *wire.Reply) {
			if r.Code == wire.NodeExists {
				r.Zxid--
			}
		}), 6},
		{"times", reply(func(op wire.Op, r *wire.Reply) { r.Stat.Mtime ^= r.Stat.Mzxid & 1 }), 7},
		{"order of events", swap(true), 10},
		{"event after the reply", swap(false), 8},
		{"lost events", func() mutator {
			return mutator{frame: func(frame []byte, event bool) [][]byte {
				if event {
					return nil
				}
				return [][]byte{frame}
			}}
		}, 8},
		{"lost watches", func() mutator {
			return mutator{request: func(r *wire.Request) {
				r.Watch = r.Watch && r.Op != wire.OpExists
			}}
		}, 8},
		{"bytes after a reply", func() mutator {
			return mutator{frame: func(frame []byte, event bool) [][]byte {
				if event {
					return [][]byte{frame}
				}
				return [][]byte{append(frame, 0)}
			}}
		}, 4},
	}, 4) {
		t.Run(test.name, func(t *testing.T) {
			o := options(startProxy(t, server, test.make), reference)
			difference, _, err := conform.Differ(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if difference == nil {
				t.Fatal("no difference found")
			}
			t.Log(difference)
			if !difference.Reproduced || len(difference.Steps) > test.steps {
				t.Errorf("reproduced: %t, with %d steps, want at most %d", difference.Reproduced,
					len(difference.Steps), test.steps)
			}
			if difference.Operation < 1 || difference.Operation > o.Operations ||
				difference.Seed != o.Seed {
				t.Errorf("operation %d of seed %d", difference.Operation, difference.Seed)
			}
		})
	}
}

// A transient fault is found although it cannot be reproduced.
func TestDifferFindsTransientFault(t *testing.T) {
	var replies atomic.Int64
	server := startProxy(t, sharedReal(t, 0), func() mutator {
		return mutator{reply: func(_ wire.Op, r *wire.Reply) {
			if replies.Add(1) == 300 {
				r.Zxid++
			}
		}}
	})
	difference, stats, err := conform.Differ(t.Context(), options(server, sharedReal(t, 1)))
	if difference == nil || err != nil {
		t.Fatal(difference, err)
	}
	if difference.Reproduced || len(difference.Steps) == 0 ||
		stats.Operations > difference.Operation {
		t.Errorf("reproduced: %t, operation %d after %d, %d steps", difference.Reproduced,
			difference.Operation, stats.Operations, len(difference.Steps))
	}
	if text := difference.String(); !strings.Contains(text, "not reproduced") ||
		!strings.Contains(text, difference.Request) {
		t.Errorf("String: %s", text)
	}
}

func TestDifferCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := options(sharedReal(t, 0), sharedReal(t, 1))
	o.Operations = 1 << 40
	o.Progress = func(conform.Stats) { cancel() }
	if difference, stats, err := conform.Differ(ctx, o); difference != nil ||
		!errors.Is(err, context.Canceled) || stats.Rounds != 1 {
		t.Errorf("Differ: %v, %d rounds, %v", difference, stats.Rounds, err)
	}
	// A cancelled run must not affect the next one.
	o = options(o.Address, o.Reference)
	o.Operations = 100
	if difference, _, err := conform.Differ(t.Context(), o); difference != nil || err != nil {
		t.Error(difference, err)
	}
}

func TestDifferNeedsTwoServers(t *testing.T) {
	address := closedAddress(t)
	if _, _, err := conform.Differ(t.Context(), options(address, address)); err == nil {
		t.Error("Differ compares a server with itself")
	}
	_, _, err := conform.Differ(t.Context(), options(address, closedAddress(t)))
	if err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("Differ without servers: %v", err)
	}
}
