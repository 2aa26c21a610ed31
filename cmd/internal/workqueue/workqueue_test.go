package workqueue

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/testkit/natstest"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shard"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
)

const build = "the build of this test"

func lockNamed(name string) (scenarios.Subject, error) {
	subject, err := bundled.Named(name)
	return subject, err
}

// dial connects to a queue until the end of the test.
func dial(t *testing.T, s *natstest.Server) *Queue {
	t.Helper()
	q, err := Dial(t.Context(), Server{URL: s.URL()}, "test", func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// newCampaign returns a campaign of a lock.
func newCampaign(t *testing.T, lock string, schedules int) *campaign.Campaign {
	return &campaign.Campaign{
		Scenario: locktest.Planned(t, locktest.Find(t, lock, bundled.All()), 2, 1, "none"), Seed: 1,
		Schedules: schedules, Strategy: "round-robin", Workers: 1,
	}
}

// planOf returns the plan of a campaign in ranges of 50 schedules.
func planOf(c *campaign.Campaign) *Plan {
	return &Plan{Build: build, Campaign: shard.Describe(c), RangeSchedules: 50}
}

var options = Options{AckWait: time.Minute, Show: func(Progress) {}}

// work starts a worker and returns a channel with the error that ends it.
func work(ctx context.Context, t *testing.T, q *Queue, build string) <-chan error {
	ended := make(chan error, 1)
	w := &Worker{
		Queue: q, T: t, Name: "worker", Build: build, Lock: lockNamed, Parallel: 1,
		Started: func(*campaign.Campaign) {}, Ended: func(*campaign.Campaign, Outcome) {},
	}
	go func() { ended <- w.Work(ctx) }()
	return ended
}

// The records of a queue merge to the report of one machine, also if a violation ends the campaign
// and later ranges do not count. The same plan is not run again.
func TestCoordinate(t *testing.T) {
	server := natstest.Start(t)
	q := dial(t, server)
	for _, lock := range []string{"textbook", "exists-then-wait"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := work(ctx, t, dial(t, server), build)
		c := newCampaign(t, lock, 530)
		whole := c.Run(t.Context(), t)
		for _, workers := range []int{1, 0} {
			records, err := q.Coordinate(t.Context(), planOf(c), options)
			if err != nil {
				t.Fatal(err)
			}
			_, merged, err := shard.Merge(t.Context(), t, build, lockNamed, records)
			if err != nil {
				t.Fatal(err)
			}
			if merged.Digest != whole.Digest || merged.Schedules != whole.Schedules ||
				merged.States != whole.States || (merged.Failure == nil) != (lock == "textbook") {
				t.Errorf("%s: %+v, not %+v", lock, merged.Runs, whole.Runs)
			}
			if workers == 1 {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// newStorage returns the storage of a plan with one range.
func newStorage(t *testing.T, ackWait time.Duration) *storage {
	t.Helper()
	s, err := dial(t, natstest.Start(t)).createStorage(t.Context(), "plan", ackWait)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.post(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	return s
}

// Of two records of a range, the first that is stored counts, and the other one is deleted.
func TestFirstRecordCounts(t *testing.T) {
	s := newStorage(t, time.Minute)
	for i, worker := range []string{"fast", "slow"} {
		counts, err := s.store(t.Context(), 0, worker, []byte("by "+worker))
		if err != nil || counts != (i == 0) {
			t.Errorf("record %d counts: %v, %v", i, counts, err)
		}
	}
	entry, err := s.results.Get(t.Context(), "0")
	if err != nil {
		t.Fatal(err)
	}
	_, r, record, err := s.load(t.Context(), entry)
	if err != nil || r.Worker != "fast" || string(record) != "by fast" {
		t.Errorf("%v: %+v, record %q", err, r, record)
	}
	objects, err := s.records.List(t.Context())
	if err != nil || len(objects) != 1 {
		t.Errorf("%v: %d records", err, len(objects))
	}
}

// A range comes again until it is acknowledged. A range that is queued cannot be queued again.
func TestRedelivery(t *testing.T) {
	s := newStorage(t, ackWaitOfTests)
	if err := s.post(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	var message jetstream.Msg
	for delivery := uint64(1); delivery <= 2; delivery++ {
		var err error
		if message, err = s.next(t.Context()); err != nil || message == nil {
			t.Fatalf("delivery %d: %v, %v", delivery, message, err)
		}
		of, err := message.Metadata()
		if index, _ := s.indexOf(message); err != nil || index != 0 || of.NumDelivered != delivery {
			t.Errorf("range %d, %+v, %v", index, of, err)
		}
	}
	if err := s.done(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	stream, err := s.queue.js.Stream(t.Context(), s.queue.storageName("plan"))
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 0 {
		t.Errorf("%d ranges are queued", n)
	}
}

const ackWaitOfTests = 50 * time.Millisecond

// A worker of another build is refused in one line.
func TestOtherBuild(t *testing.T) {
	server := natstest.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	coordinated := make(chan error, 1)
	q := dial(t, server)
	go func() {
		_, err := q.Coordinate(ctx, planOf(newCampaign(t, "textbook", 100)), options)
		coordinated <- err
	}()
	err := <-work(t.Context(), t, dial(t, server), "another build")
	var refused *RefusedError
	if !errors.As(err, &refused) || strings.Contains(err.Error(), "\n") ||
		!strings.Contains(err.Error(), build+", not another build") {
		t.Errorf("error %v", err)
	}
	cancel()
	if err := <-coordinated; !errors.Is(err, context.Canceled) {
		t.Errorf("the coordinator ended with %v", err)
	}
}

// A queue takes no other plan before its plan is done, unless that is discarded.
func TestBusyQueue(t *testing.T) {
	q := dial(t, natstest.Start(t))
	ctx, cancel := context.WithCancel(t.Context())
	stop := Options{AckWait: time.Minute}
	stop.Show = func(Progress) { cancel() }
	first := newCampaign(t, "textbook", 100)
	if _, err := q.Coordinate(ctx, planOf(first), stop); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	second := *first
	second.Seed = 2
	var busy *BusyError
	_, err := q.Coordinate(t.Context(), planOf(&second), options)
	if want := "the queue test has another plan: seed 1, not 2"; !errors.As(err, &busy) ||
		err.Error() != want {
		t.Errorf("error %v, not %s", err, want)
	}
	discard := options
	discard.Discard = true
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	ended := work(ctx, t, q, build)
	if records, err := q.Coordinate(t.Context(), planOf(&second), discard); err != nil ||
		len(records) != 2 {
		t.Errorf("%d records, %v", len(records), err)
	}
	if _, err := q.js.Stream(t.Context(),
		q.storageName(planOf(first).ID())); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the stream of the discarded plan: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A record that is damaged, or of another campaign, is refused in one line.
func TestForeignRecords(t *testing.T) {
	q := dial(t, natstest.Start(t))
	c := newCampaign(t, "textbook", 100)
	plan := planOf(c)
	s, err := q.createStorage(t.Context(), plan.ID(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	part := *c
	part.Range = plan.Range(1)
	record := encode(shard.New(build, &part, part.Run(t.Context(), t)))
	for _, wrong := range []struct {
		record []byte
		want   string
	}{
		{record, "the result of schedules 0 to 49 by worker w is of schedules 50 to 99"},
		{[]byte("{"), "the result of schedules 0 to 49 by worker w: the shard is damaged"},
	} {
		if _, err := s.store(t.Context(), 0, "w", wrong.record); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Coordinate(t.Context(), plan, options); err == nil ||
			!strings.HasPrefix(err.Error(), wrong.want) {
			t.Errorf("error %v, not %s", err, wrong.want)
		}
		if err := s.results.Purge(t.Context(), "0"); err != nil {
			t.Fatal(err)
		}
	}
}

// Sets that the first ranges have filled are full for later ranges, and those behind a gap fill
// none.
func TestFullSets(t *testing.T) {
	plan := planOf(newCampaign(t, "textbook", 150))
	c := &coordinator{
		plan: plan, records: make([]*shard.Record, plan.Ranges()), seen: new(report.Seen),
		state: state{Plan: *plan, Needed: 150},
	}
	full := &shard.Record{Seen: &report.SeenRecord{StatesCapped: true}}
	c.records[1] = full
	if c.advance() || c.state.Seen.StatesCapped {
		t.Error("a range behind a gap fills the states")
	}
	c.records[0] = &shard.Record{Seen: new(report.SeenRecord)}
	if !c.advance() || !c.state.Seen.StatesCapped || c.state.Seen.HistoriesFull || c.first != 2 {
		t.Errorf("full %+v after %d ranges", c.state.Seen, c.first)
	}
	part := newCampaign(t, "textbook", 150)
	part.Range, part.Seen = plan.Range(2), &c.state.Seen
	record := shard.New(build, part, part.Run(t.Context(), t))
	if !record.Seen.StatesCapped || len(record.Seen.States) > 0 || len(record.Seen.Histories) == 0 {
		t.Errorf("the last range has seen %+v", record.Seen)
	}
}

// Progress counts the schedules of a range under way once, and not after its result.
func TestProgress(t *testing.T) {
	var h heard
	h.note(heartbeat{Worker: "a", Range: 0, Schedules: 10, PerSecond: 5})
	h.note(heartbeat{Worker: "b", Range: 1, Schedules: 20, PerSecond: 5})
	h.note(heartbeat{Worker: "c", Range: 1, Schedules: 30, PerSecond: 5})
	p := Progress{Schedules: 50}
	h.add(&p, func(index int) bool { return index == 0 })
	if p.Workers != 3 || p.PerSecond != 15 || p.Schedules != 80 {
		t.Errorf("progress %+v", p)
	}
}
