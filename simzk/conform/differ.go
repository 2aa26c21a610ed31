package conform

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// roundLength is the number of operations below one root. It keeps trees small.
const roundLength = 5000

// Options configure [Differ].
type Options struct {
	Address    string // the server under test
	Reference  string // the server that is taken as correct
	Seed       uint64
	Operations int

	// TTL enables creating TTL nodes. Both servers must have extended types enabled.
	TTL bool
	// Containers enables creating container nodes. Servers delete empty containers periodically, by
	// default every minute; that must not happen during the run.
	Containers bool
	// Super is the superuser as user:password, as whom clients sometimes authenticate. Empty
	// disables this.
	Super string

	// OneByOne waits for the reply to each operation before sending the next, and checks all
	// clients for events after each. It makes the run several times slower.
	OneByOne bool

	Progress func(Stats) // called after each round, if not nil
}

// Stats count the operations and results of a run, to show how much a run without differences has
// covered.
type Stats struct {
	Rounds int // completed rounds, each with a root and sessions of its own
	// requests, dropped connections, taken-over connections and renewed sessions
	Operations int
	Events     int             // from the reference
	Ops        map[wire.Op]int // replies of the reference by type of request
	// replies of the reference by code; a multi counts as one
	Codes map[wire.Code]int
}

// A Difference is the first operation with different results on the two servers. Its texts are
// relative to the run: $ is the root, zxid 1 created it, and sessions are numbered.
type Difference struct {
	Seed uint64
	// number within the run, from 1; the same seed and options give the same operations up to it
	Operation int
	Request   string // the operation and its client
	Client    int    // the client that observed the difference, from 1
	Subject   string // observation from the server under test
	Reference string
	// Steps is the smallest sequence found that reproduces such a difference on a fresh root with
	// new sessions. If Reproduced is false, it is the last operations before the difference.
	Steps      []string
	Reproduced bool
	// Together means that the steps reproduce the difference only if consecutive steps on one
	// connection are pipelined.
	Together bool
}

// String describes the difference in several lines.
func (d *Difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "operation %d of seed %d differs\n%s\nclient %d observes\n", d.Operation,
		d.Seed, d.Request, d.Client)
	fmt.Fprintf(&b, "  server:    %s\n  reference: %s\n", d.Subject, d.Reference)
	switch {
	case d.Together:
		b.WriteString("minimal reproduction, with consecutive operations on a connection " +
			"pipelined:\n")
	case d.Reproduced:
		b.WriteString("minimal reproduction:\n")
	default:
		b.WriteString("not reproduced; the last operations before it:\n")
	}
	for _, s := range d.Steps {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	return b.String()
}

// A differenceError is a difference as the error of a round.
type differenceError struct{ *Difference }

func (d differenceError) Error() string { return d.String() }

// Differ sends the same random operations to two servers and compares everything that the clients
// observe: replies, events, and their order on each connection. It returns the first difference, or
// nil if there is none.
//
// Three clients share a few paths. Consecutive operations on one connection are pipelined, and all
// their replies are awaited before another client continues. No client waits for events: a server
// sends an event before the reply to the write that causes it, so on the watcher's connection it
// precedes the replies to all later requests. After a difference, the operations up to it are
// repeated one by one, and as many as possible are removed.
//
// No other client may use either server during the run, because zxids are compared. The error is a
// [ServerError] if a server cannot be reached or stops responding, or the context's error if it
// ends before a difference is found.
func Differ(ctx context.Context, options Options) (*Difference, Stats, error) {
	if options.Address == options.Reference {
		return nil, Stats{},
			errors.New("cannot compare a server with itself: its zxids would count both runs")
	}
	d := &differ{ctx: ctx, options: options}
	d.stats.Ops, d.stats.Codes = map[wire.Op]int{}, map[wire.Code]int{}
	for done := 0; done < options.Operations; done += roundLength {
		count := min(roundLength, options.Operations-done)
		steps := randomSteps(options.Seed, uint64(d.stats.Rounds), count, options)
		found, err := d.runRound(steps, options.OneByOne)
		if err != nil {
			return nil, d.stats, err
		}
		if found != nil {
			found, err = d.reproduce(steps, found, done)
			return found, d.stats, err
		}
		d.stats.Rounds++
		if options.Progress != nil {
			options.Progress(d.stats)
		}
	}
	return nil, d.stats, nil
}

type differ struct {
	ctx     context.Context
	options Options
	stats   Stats
}

// runRound executes steps on a fresh root. See Options.OneByOne.
func (d *differ) runRound(steps []step, careful bool) (*Difference, error) {
	r := &round{oneByOne: careful, stats: &d.stats, bindings: newBindings()}
	for i, address := range []string{d.options.Address, d.options.Reference} {
		s, err := newSide(d.ctx, address, "")
		if err != nil {
			return nil, err
		}
		defer s.cleanUp()
		r.sides[i] = s
	}
	err := r.run(steps)
	if ended := d.ctx.Err(); ended != nil {
		return nil, ended
	}
	found, differs := errors.AsType[differenceError](err)
	for _, s := range r.sides {
		if differs {
			s.host.check() // A stopped server also causes a difference.
		}
		if lost := s.host.err(); lost != nil {
			return nil, lost
		}
	}
	if differs {
		found.Seed = d.options.Seed
		return found.Difference, nil
	}
	return nil, err
}
