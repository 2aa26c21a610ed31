package simzk_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/internal/base/callsite"
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

	// Of a client that has crashed, whose requests may be served late:
	crashed   bool
	granted   bool // the next answer counts as sent
	remembers bool // a partition delays an answer that contains it
	unheard   bool // it crashed during a partition, or while its messages were stalled
}

func (f *follower) cutOff() bool { return f.deaf || f.mute }

func (f *follower) advance(now time.Duration) {
	for f.nextPing <= now || !f.crashed && f.nextClientPing <= now {
		if at := f.nextClientPing; !f.crashed && at <= f.nextPing {
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
		if f.granted {
			f.granted, f.known, f.contained = false, at, f.contact
		}
		f.deliver(at)
	}
}

// note notes a contact. One at the time of a ping counts as earlier, unless the ping is delayed.
func (f *follower) note(at time.Duration) {
	f.noted, f.contact = true, at
	f.pingWaits = f.pingWaits || !f.deaf && at == f.nextPing-f.half
}

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
	if f.crashed && !f.cutOff() {
		f.granted, f.noted, f.remembers = f.granted || f.noted, false, false
	}
}

// crash notes that the client crashes.
func (f *follower) crash() {
	f.crashed, f.clientPingWaits = true, false
	f.remembers = f.cutOff() && (f.noted || f.answerWaits)
	f.unheard = f.cutOff() || f.stalled
}

// hear notes a request of the client. That of a crashed client counts only if it was heard at the
// crash or, during a partition, if the follower has something else to report.
func (f *follower) hear(at time.Duration) {
	counts := !f.crashed || !f.unheard
	if f.crashed && f.cutOff() {
		counts = !f.stalled && f.remembers
	}
	if counts {
		f.note(at)
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
func (modelClient) LatencyChanges()                 {}
func (modelClient) KnownSession() int64             { return 0 }
func (modelClient) CanSave() bool                   { return true }
func (modelClient) Save(any) any                    { return nil }
func (modelClient) Restore(any)                     {}

// An observed is an ensemble with a client at a follower, and their model.
type observed struct {
	*simzk.Cluster
	link *simzk.Link
	timing
	follower
	now time.Duration
}

// A timing has what determines when a session ends.
type timing struct {
	tick, timeout  time.Duration
	expiry, relay  int // phases of the ends of sessions and of the leader's pings, in 64ths
	client, leader int // rates of their clocks, in percent
}

var usualTiming = timing{
	tick: 2 * time.Second, timeout: 4 * time.Second, expiry: 17, relay: 23,
	client: 100, leader: 100,
}

// drawTiming draws timings in which reports, pings and the ends of sessions often coincide.
func drawTiming(t *rapid.T) timing {
	draw := func(name string, values ...int) int {
		return rapid.SampledFrom(values).Draw(t, name)
	}
	phase := rapid.OneOf(rapid.SampledFrom([]int{0, 16, 32, 48}), rapid.IntRange(0, 63))
	return timing{
		tick:    time.Duration(draw("tick", 2000, 1000, 3000)) * time.Millisecond,
		timeout: time.Duration(draw("timeout", 4000, 6000, 3000, 800, 500)) * time.Millisecond,
		expiry:  phase.Draw(t, "expiry"), relay: phase.Draw(t, "relay"),
		client: draw("client", 100, 95, 50), leader: draw("leader", 100, 95, 200),
	}
}

// observe returns an ensemble with the timing.
func observe(timing timing) *observed {
	o := &observed{
		Cluster: simzk.New(simzk.Config{
			Servers: 3, Lag: true, TickTime: timing.tick, SessionTimeout: timing.timeout,
		}, nil),
		link: new(simzk.Link), timing: timing,
	}
	o.AddClient(o.link, modelClient{})
	o.SetClientClock(o.link, timing.client)
	o.SetClockRate(leads, timing.leader)
	o.GrantSession(o.link)
	o.ShiftExpiry(timing.expiry, 64)
	o.ShiftRelay(timing.relay, 64)
	half := timing.tick / 2
	o.follower = follower{
		half: half, nextPing: half * time.Duration(timing.relay) / 64,
		interval: timing.timeout / 3, noted: true,
	}
	return o
}

// ends returns when the session ends in the model if the leader hears no more of it: at the first
// instant at which the leader ends sessions after the timeout.
func (o *observed) ends() time.Duration {
	end := o.tick*time.Duration(o.expiry)/64 - o.tick
	for timeout := o.timeout * time.Duration(o.client) / 100; end <= o.read(o.known)+timeout; {
		end += o.tick
	}
	at := end * 100 / time.Duration(o.leader)
	for o.read(at) < end {
		at++
	}
	return at
}

// expected returns the same if the answer comes that counts as sent.
func (o *observed) expected() time.Duration {
	ends := o.ends()
	if o.granted && ends >= o.nextPing {
		later := *o
		later.known = o.nextPing
		return later.ends()
	}
	return ends
}

// read returns the reading of the leader's clock.
func (o *observed) read(at time.Duration) time.Duration {
	return at * time.Duration(o.leader) / 100
}

// brief reports whether the session can end between two reports although the client pings in time.
// [simzk.Cluster.Deadline] tells that only after the first of them.
func (o *observed) brief() bool {
	timeout := o.timeout * time.Duration(o.client) / time.Duration(o.leader)
	return timeout < o.interval+o.link.RoundTrip()+o.half
}

// pass lets time pass in the simulator and the model, and reports whether the session lives on and
// the follower still serves.
func (o *observed) pass(t failer, duration time.Duration) bool {
	o.now += duration
	for {
		if next := o.NextInstant(o.Now()); next <= o.now && o.brief() {
			o.Advance(next)
		} else if next, ok := o.Deadline(); ok && next <= o.now {
			moving := o.link.InTransit()
			o.Advance(next)
			if o.Sessions() != 0 && o.Serving(0) && !moving {
				t.Fatalf("nothing happens at the deadline %v", next)
			}
		} else {
			break
		}
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
// in an answer that has reached the leader. Nothing else is a deadline.
func TestReportsAgainstModel(t *testing.T) {
	for range 30 { // Some coincidences are rare.
		rapid.Check(t, againstModel)
	}
}

func againstModel(t *rapid.T) {
	o := observe(drawTiming(t))
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		// Steps often coincide with pings, but no change of a partition does.
		pass := rapid.OneOf(rapid.IntRange(0, 1500), rapid.SampledFrom([]int{0, 250, 1000}))
		if !o.pass(t, time.Duration(pass.Draw(t, "pass"))*time.Millisecond) {
			return
		}
		if o.known < o.contained {
			t.Fatalf("the leader has last heard of the client at %v, before a contact at %v",
				o.known, o.contained)
		}
		steps := disturbances
		if o.now == o.nextPing-o.half {
			steps = clientDisturbances
		}
		o.disturb(rapid.SampledFrom(steps).Draw(t, "step"))
	}
	if !o.pass(t, time.Microsecond) {
		return
	}
	o.PartitionServer(0, true, true)
	if got, want := o.SessionList()[0].Expires, o.expected(); got != want {
		t.Errorf("the session ends at %v, want %v", got, want)
	}
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
		o := observe(usualTiming)
		o.pass(t, time.Microsecond) // No step coincides with a ping.
		for range 8 {
			if !o.pass(t, time.Duration(random.IntN(4))*300*time.Millisecond) {
				break
			}
			for range 1 + random.IntN(2) {
				o.disturb(disturbances[random.IntN(len(disturbances))])
			}
			f := future{o.follower.relative(o.now), o.expected() - o.now}
			if o.link.Unserved() == 0 {
				f.unheard = false
			}
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
	if f.crashed {
		f.nextClientPing, f.granted = 0, false
	}
	return f
}

var (
	disturbances       = append([]string{"inbound", "outbound"}, clientDisturbances...)
	clientDisturbances = []string{"stall", "pause", "request", "crash", "slow"}
)

// disturb performs a step in the simulator and in the model.
func (o *observed) disturb(step string) {
	c, f := o.Cluster, &o.follower
	switch {
	case step == "inbound":
		if f.deaf = !f.deaf; f.deaf {
			c.PartitionLink(leads, 0)
		} else {
			c.HealLink(leads, 0)
		}
	case step == "outbound":
		if f.mute = !f.mute; f.mute {
			c.PartitionLink(0, leads)
		} else {
			c.HealLink(0, leads)
		}
	case step == "request":
		if !f.crashed && !f.stalled {
			o.send()
		}
		o.serve()
	case !f.crashed:
		o.disturbClient(step)
	}
	f.deliver(o.now)
}

// disturbClient performs a step that strikes the client.
func (o *observed) disturbClient(step string) {
	c, l := o.Cluster, o.link
	stalled, _ := l.Stalled()
	slow, _ := l.Slow()
	switch {
	case step == "slow":
		if !slow && !o.stalled {
			c.SlowLink(l, o.interval/2, 0)
			o.nextClientPing += o.interval / 2 // The model has the times at which pings arrive.
		}
		return
	case step == "crash":
		o.send()
		o.send()
		c.Crash(l)
		o.crash()
		return
	case step == "stall" && stalled:
		c.Heal(l)
	case step == "stall":
		c.StallRequests(l)
	case l.Paused():
		c.Resume(l)
	default:
		c.Pause(l, time.Hour)
	}
	stalled, _ = l.Stalled()
	o.stalled = stalled || l.Paused()
}

// send sends a request of the client.
func (o *observed) send() {
	r := &simzk.Exchange{Request: wire.Request{Op: wire.OpExists, Path: "/"}}
	o.Send(o.link, r, callsite.Site{})
}

// serve serves a request if there is one that can be served, and delivers the replies.
func (o *observed) serve() {
	if _, ok := o.link.Servable(); ok {
		o.Serve(o.link)
		o.hear(o.now)
	}
	for _, ok := o.link.Deliverable(); ok; _, ok = o.link.Deliverable() {
		o.Deliver(o.link)
	}
}
