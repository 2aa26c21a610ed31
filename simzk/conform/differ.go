package conform

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// epochLength is how many operations are done below one root. It keeps trees small.
const epochLength = 5000

// Options say what [Differ] does.
type Options struct {
	Address    string // the server in question
	Reference  string // the server that is right
	Seed       uint64
	Operations int

	// TTL has nodes with a time to live created. Both servers must have extended types enabled.
	TTL bool
	// Containers has container nodes created. Servers delete those that are empty when they think
	// of it, by themselves every minute, which must not be within the run.
	Containers bool
	// Super has clients authenticate as the superuser, now and then. It is user:password, empty if
	// there is none.
	Super string

	// OneByOne has every operation answered before the next is sent, and all clients look for
	// events after each. It takes several times as long.
	OneByOne bool

	Progress func(Stats) // called now and then, if not nil
}

// Stats count what a run has done, so that one that found nothing can show that it has looked.
type Stats struct {
	Rounds int
	// requests, connections dropped or taken over, and sessions renewed
	Operations int
	Events     int             // from the reference
	Ops        map[wire.Op]int // replies of the reference by the type of the request
	// replies of the reference by their code, that of a multi as a whole
	Codes map[wire.Code]int
}

// A Difference is the first operation that two servers have answered differently. The names in it
// are relative to the run: $ is the root, zxid 1 created it, and sessions are numbered.
type Difference struct {
	Seed uint64
	// its number within the run, from 1; the same seed and options do the same operations up to it
	Operation int
	Request   string // the operation, and who did it
	Client    int    // whose connection shows the difference, from 1
	Subject   string // what came from the server in question
	Reference string
	// Steps are the fewest operations found that show such a difference when they are done alone,
	// on a fresh root, by clients with new sessions. They are the last ones before the difference
	// if it has not shown again.
	Steps      []string
	Reproduced bool
	// Together says that the steps have shown the difference only when those that follow each other
	// on one connection were sent together.
	Together bool
}

// String tells of the difference in several lines.
func (d *Difference) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "operation %d of seed %d differs\n%s\nwhich client %d sees as\n", d.Operation,
		d.Seed, d.Request, d.Client)
	fmt.Fprintf(&b, "  server:    %s\n  reference: %s\n", d.Subject, d.Reference)
	switch {
	case d.Together:
		b.WriteString("the fewest operations that show it, if those in a row on one connection " +
			"are " +
			"sent together:\n")
	case d.Reproduced:
		b.WriteString("the fewest operations that show it:\n")
	default:
		b.WriteString("it has not shown again; the last operations before it:\n")
	}
	for _, s := range d.Steps {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	return b.String()
}

// A differenceError is what a comparison fails with.
type differenceError struct{ *Difference }

func (d differenceError) Error() string { return d.String() }

// Differ does the same random operations with two servers, one after the other with each, and
// compares all that the clients see: the replies, the events, and their order on every connection.
// It returns the first difference, or nil if there is none.
//
// Three clients meet at few paths. Operations that follow each other on one connection are sent
// together, as the protocol allows, and all their replies are awaited before another client goes
// on. Nobody waits for events: a server sends an event before the reply to the write that causes
// it, so it precedes, on the connection of whoever watches, the replies to all that is asked for
// later there. When a difference has shown, the operations up to it are done again one by one, and
// as many as possible are left out.
//
// While Differ runs nobody else may use either server, because zxids are compared. The error is a
// [ServerError] if one of them cannot be reached, or ends or falls silent amid the run, or says
// that the context has ended before there was a difference.
func Differ(ctx context.Context, options Options) (*Difference, Stats, error) {
	if options.Address == options.Reference {
		return nil, Stats{},
			errors.New("a server cannot be compared with itself, its zxids would count both runs")
	}
	d := &differ{ctx: ctx, options: options}
	d.stats.Ops, d.stats.Codes = map[wire.Op]int{}, map[wire.Code]int{}
	for done := 0; done < options.Operations; done += epochLength {
		count := min(epochLength, options.Operations-done)
		steps := randomSteps(options.Seed, uint64(d.stats.Rounds), count, options)
		found, err := d.epoch(steps, options.OneByOne)
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

// epoch does steps on a fresh root. A careful epoch is one as with OneByOne.
func (d *differ) epoch(steps []step, careful bool) (*Difference, error) {
	e := &epoch{careful: careful, stats: &d.stats, memory: newMemory()}
	for i, address := range []string{d.options.Address, d.options.Reference} {
		s, err := begin(d.ctx, address)
		if err != nil {
			return nil, err
		}
		defer s.end()
		e.sides[i] = s
	}
	err := e.run(steps)
	if ended := d.ctx.Err(); ended != nil {
		return nil, ended
	}
	found, differs := errors.AsType[differenceError](err)
	for _, s := range e.sides {
		if differs {
			s.host.check() // The difference may be that one of them has ended.
		}
		if lost := s.host.lost(); lost != nil {
			return nil, lost
		}
	}
	if differs {
		found.Seed = d.options.Seed
		return found.Difference, nil
	}
	return nil, err
}
