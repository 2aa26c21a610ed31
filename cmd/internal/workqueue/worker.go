package workqueue

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shard"
)

// A Worker runs ranges of the plans of a queue.
type Worker struct {
	Queue *Queue
	T     *testing.T
	Name  string
	Build string // of this program
	Lock  shard.Lock
	// Parallel is how many schedules run at a time. The plans must not have the real client, which
	// the goroutines of the connection disturb.
	Parallel int
	// Started is called before each range, and Ended after it, by one goroutine.
	Started func(*campaign.Campaign)
	Ended   func(*campaign.Campaign, Outcome)
}

// An Outcome is what became of a range that a worker ran.
type Outcome string

// The outcomes of a range.
const (
	Stored  Outcome = "stored"
	Late    Outcome = "not counted: another worker has stored it"
	Dropped Outcome = "dropped: it is not needed any more"
	// Returned ranges go to another worker.
	Returned Outcome = "given back"
)

// A RefusedError says that a worker cannot run the plan of the queue.
type RefusedError struct{ text string }

func (e *RefusedError) Error() string { return e.text }

// Work runs ranges of the plans that the queue gets, one plan after the other, until the context
// ends. It then gives the range that it runs back and returns nil. A plan of another build is a
// [RefusedError].
func (w *Worker) Work(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	states := w.Queue.watch(ctx, w.Queue.plan)
	var current *job
	defer func() { current.stop() }()
	var again <-chan time.Time
	for latest := new(state); ; {
		select {
		case <-ctx.Done():
			return nil
		case err := <-current.failed():
			if err != nil {
				return err
			}
			// Its storage is gone: a coordinator is about to create it anew, or another plan.
			current, again = nil, time.After(retryWait)
			continue
		case <-again:
		case entry, ok := <-states:
			if !ok && ctx.Err() == nil {
				return fmt.Errorf("the queue %s is gone", w.Queue.name)
			}
			if entry == nil {
				continue
			}
			var err error
			if latest, err = decodeState(entry); err != nil {
				return err
			}
		}
		again = nil
		if current != nil && latest.ID() == current.plan.ID() && latest.Needed > 0 {
			current.need(latest)
			continue
		}
		current.stop()
		if current = nil; latest.Needed == 0 {
			continue
		}
		var err error
		if current, err = w.begin(ctx, latest); err != nil {
			return err
		}
	}
}

// begin begins to work on a plan.
func (w *Worker) begin(ctx context.Context, s *state) (*job, error) {
	if s.Build != w.Build {
		return nil, &RefusedError{fmt.Sprintf("the plan of the queue %s is of another build than "+
			"this program: %s, not %s; run all workers with the program of the coordinator",
			w.Queue.name, s.Build, w.Build)}
	}
	c, err := s.Campaign.Make(w.Lock)
	if err != nil {
		return nil, fmt.Errorf("the plan of the queue %s: %w", w.Queue.name, err)
	}
	c.Workers = w.Parallel
	j := &job{worker: w, plan: &s.Plan, campaign: c, state: s, result: make(chan error, 1)}
	ctx, j.cancel = context.WithCancel(ctx)
	j.done.Go(func() {
		defer j.cancel()
		// A schedule runs one goroutine at a time.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(min(c.Workers, runtime.GOMAXPROCS(0))))
		j.result <- j.run(ctx)
	})
	return j, nil
}

// A job is the work on a plan.
type job struct {
	worker   *Worker
	plan     *Plan
	campaign *campaign.Campaign // the whole
	storage  *storage
	cancel   context.CancelFunc
	done     sync.WaitGroup
	result   chan error
	rate     float64 // schedules/s lately

	mu      sync.Mutex
	state   *state
	current report.Range
	drop    context.CancelFunc // of the range under way, or nil
}

// stop ends the job, if there is one, and waits until it has given back its range.
func (j *job) stop() {
	if j != nil {
		j.cancel()
		j.done.Wait()
	}
}

// failed returns the channel with the error that ends the job, if there is one; nil if its storage
// is gone.
func (j *job) failed() <-chan error {
	if j == nil {
		return nil
	}
	return j.result
}

// need notes what is needed from now on. It ends the range under way if that is not.
func (j *job) need(s *state) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state = s
	if j.drop != nil && j.current.From >= s.Needed {
		j.drop()
	}
}

// run runs ranges until the context ends or the storage is gone.
func (j *job) run(ctx context.Context) (err error) {
	if j.storage, err = persist(ctx, j.worker.Queue, func() (*storage, error) {
		return j.worker.Queue.openStorage(ctx, j.plan.ID())
	}); err != nil {
		return j.ended(ctx, err)
	}
	for ctx.Err() == nil {
		message, err := j.storage.next(ctx)
		if err == nil && message != nil {
			err = j.perform(ctx, message)
		}
		if err != nil {
			return j.ended(ctx, err)
		}
	}
	return nil
}

// ended returns an error unless the job ended because the plan did.
func (j *job) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil || gone(err) {
		return nil
	}
	return err
}

// perform runs the range that a message asks for, unless it has a result or is not needed.
func (j *job) perform(ctx context.Context, message jetstream.Msg) error {
	index, err := j.storage.indexOf(message)
	if err != nil || index < 0 || index >= j.plan.Ranges() {
		return fmt.Errorf("the queue has a range that is not one of the plan: %s",
			message.Subject())
	}
	if known, err := j.storage.has(ctx, index); err != nil {
		return err
	} else if known {
		return j.storage.done(ctx, message)
	}
	c := *j.campaign
	c.Range = j.plan.Range(index)
	ranged, needed := j.take(ctx, &c)
	defer j.leave()
	if !needed {
		return j.storage.done(ctx, message)
	}
	quiet := j.keep(message)
	defer quiet()
	j.beats(&c, index)
	j.worker.Started(&c)
	found := c.Run(ranged, j.worker.T)
	j.rate = float64(found.Schedules) / found.Elapsed.Seconds()
	outcome, err := j.conclude(ctx, message, index, &c, found)
	if err == nil {
		j.worker.Ended(&c, outcome)
	}
	return err
}

// take makes a range the one under way. It reports false if the range is not needed. The context
// that it returns ends when it is not needed any more.
func (j *job) take(ctx context.Context, c *campaign.Campaign) (context.Context, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.current = c.Range
	c.Seen = &j.state.Seen
	ctx, j.drop = context.WithCancel(ctx)
	return ctx, c.Range.From < j.state.Needed
}

// leave ends the range under way.
func (j *job) leave() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.drop()
	j.drop = nil
}

// conclude stores the record of a range, or gives an unfinished range back.
func (j *job) conclude(ctx context.Context, message jetstream.Msg, index int,
	c *campaign.Campaign, found *report.Campaign,
) (Outcome, error) {
	switch {
	case found.Interrupted && ctx.Err() != nil:
		return Returned, message.Nak()
	case found.Interrupted:
		return Dropped, j.storage.done(ctx, message)
	}
	record := encode(shard.New(j.worker.Build, c, found))
	counts, err := j.storage.store(ctx, index, j.worker.Name, record)
	switch {
	case err != nil && ctx.Err() != nil:
		return Returned, message.Nak()
	case err != nil:
		return "", fmt.Errorf("storing the result of %v: %w", c.Range, err)
	}
	err = j.storage.done(ctx, message)
	if ctx.Err() != nil {
		err = nil // It is stored: the next worker that gets the message acknowledges it.
	}
	if !counts {
		return Late, err
	}
	return Stored, err
}

// keep tells the server that the message is worked on until quiet is called.
func (j *job) keep(message jetstream.Msg) (quiet func()) {
	stop := make(chan struct{})
	j.mu.Lock()
	interval := max(j.state.AckWait/3, time.Millisecond)
	j.mu.Unlock()
	go func() {
		ticks := time.NewTicker(interval)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				message.InProgress() // If it is lost, another worker runs the range too.
			case <-stop:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(stop) })
}

// beats lets the campaign tell the coordinator how far it is.
func (j *job) beats(c *campaign.Campaign, index int) {
	subject := j.worker.Queue.subjectOf(j.plan.ID()) + "beat"
	send := func(schedules int) { // Lost while there is no connection.
		j.worker.Queue.conn.Publish(subject,
			encode(&heartbeat{j.worker.Name, index, schedules, j.rate}))
	}
	send(0)
	var last time.Duration
	c.Progress = func(r *report.Campaign) {
		j.rate = float64(r.Schedules) / r.Elapsed.Seconds()
		if r.Elapsed-last >= heartbeatInterval {
			last = r.Elapsed
			send(r.Schedules)
		}
	}
}
