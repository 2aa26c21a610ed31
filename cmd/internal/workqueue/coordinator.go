package workqueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shard"
)

// Options say how a plan is coordinated.
type Options struct {
	// AckWait is how long a worker may be silent until its range goes to another.
	AckWait time.Duration
	Discard bool           // first discard the plan and the results that the queue has
	Show    func(Progress) // called now and then
}

// A BusyError says that a queue has another plan, whose report nobody has yet.
type BusyError struct{ text string }

func (e *BusyError) Error() string { return e.text }

// Coordinate hands out the ranges of a plan, and returns the records of all that count. Results of
// the same plan that are stored already are not computed again. If the context ends, Coordinate
// returns its error; the queue keeps the plan, and the workers continue.
//
// The results stay on the server until the queue gets another plan.
func (q *Queue) Coordinate(ctx context.Context, p *Plan, o Options) ([]*shard.Record, error) {
	c := &coordinator{
		queue: q, plan: p, show: o.Show, records: make([]*shard.Record, p.Ranges()),
		seen:  new(report.Seen),
		state: state{Plan: *p, Needed: p.Campaign.Schedules, AckWait: o.AckWait},
	}
	if err := c.begin(ctx, o); err != nil {
		return nil, err
	}
	return c.gather(ctx)
}

// A coordinator gathers the results of a plan.
type coordinator struct {
	queue   *Queue
	plan    *Plan
	storage *storage
	show    func(Progress)

	state   state
	records []*shard.Record // by index of the range; nil without a result
	// The first ranges, which have results and count whatever the others show.
	first int
	seen  *report.Seen // by the first ranges

	stored, schedules, failed int // for the progress
	heard                     heard
}

// begin makes the plan that of the queue.
func (c *coordinator) begin(ctx context.Context, o Options) (err error) {
	q, id := c.queue, c.plan.ID()
	entry, err := q.plan.Get(ctx, stateKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		if c.storage, err = q.createStorage(ctx, id, o.AckWait); err != nil {
			return err
		}
		_, err = q.plan.Create(ctx, stateKey, encode(&c.state))
		return c.posted(err)
	}
	if err != nil {
		return err
	}
	old, err := decodeState(entry)
	if err != nil && !o.Discard {
		return err
	}
	same := err == nil && old.ID() == id
	switch {
	case o.Discard || !same && old.Needed == 0:
		if err == nil {
			err = q.deleteStorage(ctx, old.ID())
		}
		if err != nil {
			return err
		}
	case !same:
		return &BusyError{fmt.Sprintf("the queue %s has another plan: %s", q.name,
			c.difference(old))}
	}
	if c.storage, err = q.createStorage(ctx, id, o.AckWait); err != nil || same && !o.Discard {
		return err
	}
	_, err = q.plan.Update(ctx, stateKey, encode(&c.state), entry.Revision())
	return c.posted(err)
}

// posted says in an error of storing the state that another coordinator was faster.
func (c *coordinator) posted(err error) error {
	if errors.Is(err, jetstream.ErrKeyExists) {
		return &BusyError{fmt.Sprintf("the queue %s has just got another plan", c.queue.name)}
	}
	return err
}

// difference says in what the plan of the queue differs.
func (c *coordinator) difference(old *state) string {
	switch difference := old.Campaign.Difference(&c.plan.Campaign); {
	case difference != "":
		return difference
	case old.Build != c.plan.Build:
		return fmt.Sprintf("of build %s, not %s", old.Build, c.plan.Build)
	}
	return fmt.Sprintf("ranges of %d schedules, not %d", old.RangeSchedules, c.plan.RangeSchedules)
}

// gather waits until every range that counts has a result.
func (c *coordinator) gather(ctx context.Context) ([]*shard.Record, error) {
	beats := make(chan *nats.Msg, 1024)
	subscription, err := c.queue.conn.ChanSubscribe(c.queue.subjectOf(c.plan.ID())+"beat", beats)
	if err != nil {
		return nil, err
	}
	defer subscription.Unsubscribe()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := c.queue.watch(ctx, c.storage.results)
	ticks := time.NewTicker(heartbeatInterval)
	defer ticks.Stop()
	posted := false
	for !posted || !c.complete() {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case entry, ok := <-results:
			switch {
			case !ok:
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				return nil, errors.New("the results of the queue are gone: another coordinator " +
					"has discarded them")
			case entry != nil:
				err = c.take(ctx, entry)
			case !posted: // All results that are stored so far have been taken.
				posted, err = true, c.post(ctx)
			}
			if err != nil {
				return nil, err
			}
		case message := <-beats:
			var beat heartbeat
			if json.Unmarshal(message.Data, &beat) == nil { // Anyone can send on the subject.
				c.heard.note(beat)
			}
		case <-ticks.C:
			c.show(c.progress())
		}
	}
	c.state.Needed = 0
	return c.counting(), c.announce(ctx)
}

// counting returns the records that there are.
func (c *coordinator) counting() (all []*shard.Record) {
	for _, r := range c.records {
		if r != nil {
			all = append(all, r)
		}
	}
	return all
}

// complete reports whether every range that counts has a result.
func (c *coordinator) complete() bool {
	return c.first == len(c.records) || c.plan.Range(c.first).From >= c.state.Needed
}

// post queues the ranges that have no result. It tells the workers what is needed, because what an
// earlier coordinator of the same plan said may be out of date.
func (c *coordinator) post(ctx context.Context) error {
	if c.complete() {
		return nil
	}
	if err := c.announce(ctx); err != nil {
		return err
	}
	for index, r := range c.records {
		if r != nil || c.plan.Range(index).From >= c.state.Needed {
			continue
		}
		if err := c.storage.post(ctx, index); err != nil {
			return fmt.Errorf("queueing %v: %w", c.plan.Range(index), err)
		}
	}
	return nil
}

// take takes a result. It tells the workers if less is needed from now on.
func (c *coordinator) take(ctx context.Context, entry jetstream.KeyValueEntry) error {
	if index, err := strconv.Atoi(entry.Key()); err == nil && index < len(c.records) &&
		c.records[index] != nil {
		return nil // Known since before a reconnection.
	}
	index, r, content, err := c.storage.load(ctx, entry)
	if err != nil {
		return err
	}
	if index < 0 || index >= len(c.records) {
		return fmt.Errorf("the queue has a result of range %d, and the plan has %d ranges", index,
			len(c.records))
	}
	name := fmt.Sprintf("the result of %v by worker %s", c.plan.Range(index), r.Worker)
	record, err := shard.Decode(name, content)
	if err != nil {
		return err
	}
	if record.Range != c.plan.Range(index) {
		return fmt.Errorf("%s is of %v", name, record.Range)
	}
	c.records[index] = record
	c.stored++
	c.schedules += record.Schedules
	if record.Failure != nil {
		c.failed++
	}
	c.show(c.progress())
	less := record.Ended() && record.Range.To < c.state.Needed
	if less {
		c.state.Needed = record.Range.To
	}
	if c.advance() || less {
		return c.announce(ctx)
	}
	return nil
}

// advance counts what the first ranges have seen, and reports whether a set has become full. Only
// those count: what ranges behind a gap have seen may turn out not to be part of the campaign.
func (c *coordinator) advance() (full bool) {
	for c.first < len(c.records) && c.records[c.first] != nil &&
		c.plan.Range(c.first).From < c.state.Needed {
		c.seen.Merge(c.records[c.first].Seen)
		c.first++
	}
	now := c.seen.Full()
	full = now.StatesCapped != c.state.Seen.StatesCapped ||
		now.HistoriesFull != c.state.Seen.HistoriesFull
	c.state.Seen = now
	return full
}

// announce tells the workers what is needed.
func (c *coordinator) announce(ctx context.Context) error {
	_, err := persist(ctx, c.queue, func() (uint64, error) {
		return c.queue.plan.Put(ctx, stateKey, encode(&c.state))
	})
	return err
}

func (c *coordinator) progress() Progress {
	p := Progress{
		Schedules: c.schedules, Planned: c.state.Needed, Stored: c.stored,
		Ranges: len(c.records), Failed: c.failed,
	}
	c.heard.add(&p, func(index int) bool {
		return index < 0 || index >= len(c.records) || c.records[index] != nil
	})
	return p
}
