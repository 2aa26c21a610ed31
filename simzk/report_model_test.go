package simzk_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/internal/callsite"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// A follower in this model handles one event after the other: pings of the leader, which wait while
// it is deaf, pings and requests of a client, and its answers, which wait while it is mute. The
// simulator computes the same from times.
type follower struct {
	deaf, mute, stalled                bool
	pingWaits, clientPingWaits         bool
	noted, answerWaits                 bool
	nextPing, nextClientPing, interval time.Duration
	half                               time.Duration
	known                              time.Duration // when the leader last heard of the client
	contained                          time.Duration // the last contact that it has heard of
	contact, waiting                   time.Duration // the last one; in an answer that waits
}

func (f *follower) advance(now time.Duration) {
	for f.nextPing <= now || f.nextClientPing <= now {
		if at := f.nextClientPing; at <= f.nextPing {
			f.nextClientPing += f.interval
			if f.stalled {
				f.clientPingWaits = true
			} else {
				f.note(at)
			}
			continue
		}
		at := f.nextPing
		f.nextPing += f.half
		f.pingWaits = true
		f.deliver(at)
	}
}

func (f *follower) note(at time.Duration) { f.noted, f.contact = true, at }

// deliver lets pass what waits and is not held up.
func (f *follower) deliver(at time.Duration) {
	if !f.stalled && f.clientPingWaits {
		f.clientPingWaits = false
		f.note(at)
	}
	if !f.deaf && f.pingWaits {
		f.pingWaits = false
		if f.noted {
			f.noted, f.answerWaits, f.waiting = false, true, f.contact
		}
	}
	if !f.mute && f.answerWaits {
		f.answerWaits, f.known, f.contained = false, at, f.waiting
	}
}

// A modelClient is a client that only pings and never gives up its connection.
type modelClient struct{ pinger }

func (modelClient) Collect()                        {}
func (modelClient) Deliver(simzk.Message)           {}
func (modelClient) Advance()                        {}
func (modelClient) Disconnected()                   {}
func (modelClient) Deadline() (time.Duration, bool) { return 0, false }
func (modelClient) PingsStalled()                   {}
func (modelClient) PingsResumed()                   {}
func (modelClient) KnownSession() int64             { return 0 }
func (modelClient) CanSave() bool                   { return true }
func (modelClient) Save(any) any                    { return nil }
func (modelClient) Restore(any)                     {}

// An observed is an ensemble with a client at a follower, and their model.
type observed struct {
	*simzk.Cluster
	link *simzk.Link
	follower
	now time.Duration
}

const (
	modelTick    = 2 * time.Second
	modelTimeout = 4 * time.Second
)

// observe returns an ensemble with the phases of the ends of sessions and of the leader's pings, in
// 64ths.
func observe(expiry, relay int) *observed {
	o := &observed{
		Cluster: simzk.New(simzk.Config{Servers: 3, Lag: true}, nil), link: new(simzk.Link),
	}
	o.AddClient(o.link, modelClient{})
	o.GrantSession(o.link)
	o.ShiftExpiry(expiry, 64)
	o.ShiftRelay(relay, 64)
	o.follower = follower{
		half: modelTick / 2, nextPing: modelTick / 2 * time.Duration(relay) / 64,
		interval: modelTimeout / 3, noted: true,
	}
	return o
}

// ends returns when the session ends in the model if the leader hears no more of it.
func (o *observed) ends() time.Duration { return o.NextExpiry(o.known + modelTimeout) }

// pass lets time pass in the simulator and the model, and reports whether the session lives on and
// the follower still serves.
func (o *observed) pass(t failer, duration time.Duration) bool {
	o.now += duration
	for next, ok := o.Deadline(); ok && next <= o.now; next, ok = o.Deadline() {
		o.Advance(next)
	}
	o.Advance(o.now)
	for end := o.ends(); end <= o.now; {
		o.follower.advance(end)
		if later := o.ends(); later > end {
			end = later // A report has come in time.
			continue
		}
		if o.Sessions() != 0 {
			t.Fatalf("the session is alive at %v, want that it ends at %v", o.now, end)
		}
		return false
	}
	o.follower.advance(o.now)
	if !o.Serving(0) {
		return false
	}
	if o.Sessions() == 0 {
		t.Fatalf("the session has ended at %v, want %v", o.now, o.ends())
	}
	return true
}

type failer interface {
	Fatalf(format string, args ...any)
}

// The session ends when it ends in the model, and no sooner than one timeout after the last contact
// in an answer that has reached the leader.
func TestReportsAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		phase := rapid.IntRange(0, 63)
		o := observe(phase.Draw(t, "expiry"), phase.Draw(t, "relay"))
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			// No step coincides with a ping.
			pass := time.Duration(rapid.IntRange(0, 1500).Draw(t, "pass")) * time.Millisecond
			if !o.pass(t, pass+2*time.Microsecond) {
				return
			}
			if end := o.ends(); end < o.contained+modelTimeout {
				t.Fatalf("the session ends at %v, with a contact at %v", end, o.contained)
			}
			o.disturb(rapid.SampledFrom(disturbances).Draw(t, "step"))
		}
		o.PartitionServer(0, true, true)
		if got, want := o.SessionList()[0].Expires, o.ends(); got != want {
			t.Errorf("the session ends at %v, want %v", got, want)
		}
	})
}

// Ensembles with the same hash have the same future in the model. A snapshot keeps the hash.
func TestStateHashTellsReports(t *testing.T) {
	type future struct {
		follower
		ends time.Duration
	}
	random := rand.New(rand.NewPCG(1, 2))
	futures, met := make(map[uint64]future), 0
	for range 15_000 {
		o := observe(17, 23)
		o.pass(t, time.Microsecond) // No step coincides with a ping.
		for range 8 {
			if !o.pass(t, time.Duration(random.IntN(4))*300*time.Millisecond) {
				break
			}
			for range 1 + random.IntN(2) {
				o.disturb(disturbances[random.IntN(len(disturbances))])
			}
			f := future{o.follower.relative(o.now), o.ends() - o.now}
			hash := o.StateHash(false)
			if o.digress(t, random); o.StateHash(false) != hash {
				t.Fatalf("at %v, a snapshot loses something", o.now)
			}
			before, found := futures[hash]
			if found && before != f {
				t.Fatalf("at %v, the hash is that of another future:\n%+v\n%+v", o.now, f, before)
			}
			if found {
				met++
			}
			futures[hash] = f
		}
	}
	if met < 10_000 {
		t.Errorf("only %d states have a hash that was met before", met)
	}
}

// digress disturbs the ensemble and lets time pass, and takes that back.
func (o *observed) digress(t failer, random *rand.Rand) {
	before, snapshot := *o, new(simzk.Snapshot)
	o.Save(snapshot)
	o.disturb(disturbances[random.IntN(len(disturbances))])
	o.pass(t, time.Duration(random.IntN(4))*300*time.Millisecond)
	o.Restore(snapshot)
	*o = before
}

// relative returns the follower with times relative to the present, without what has no effect.
func (f follower) relative(now time.Duration) follower {
	f.nextPing, f.nextClientPing = f.nextPing-now, f.nextClientPing-now
	f.known, f.contact, f.contained, f.waiting = 0, 0, 0, 0
	return f
}

var disturbances = []string{"inbound", "outbound", "stall", "pause", "request"}

// disturb performs a step in the simulator and in the model.
func (o *observed) disturb(step string) {
	c, l, f := o.Cluster, o.link, &o.follower
	switch step {
	case "inbound":
		if f.deaf = !f.deaf; f.deaf {
			c.PartitionLink(leads, 0)
		} else {
			c.HealLink(leads, 0)
		}
	case "outbound":
		if f.mute = !f.mute; f.mute {
			c.PartitionLink(0, leads)
		} else {
			c.HealLink(0, leads)
		}
	case "stall":
		if requests, _ := l.Stalled(); !requests {
			c.StallRequests(l)
		} else {
			c.Heal(l)
		}
	case "pause":
		if !l.Paused() {
			c.Pause(l, time.Hour)
		} else {
			c.Resume(l)
		}
	case "request":
		if !f.stalled {
			r := &simzk.Exchange{Request: wire.Request{Op: wire.OpExists, Path: "/"}}
			c.Send(l, r, callsite.Site{})
			c.Serve(l)
			for _, ok := l.Deliverable(); ok; _, ok = l.Deliverable() {
				c.Deliver(l)
			}
			f.note(o.now)
		}
	}
	requests, _ := l.Stalled()
	f.stalled = requests || l.Paused()
	f.deliver(o.now)
}
