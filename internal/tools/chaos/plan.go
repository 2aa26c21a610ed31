package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A faultKind is what the driver does to a server, to the connections between a client and the
// servers, or to a client.
type faultKind int

const (
	killLeader faultKind = iota
	pauseLeader
	killServer
	pauseServer
	cut
	stall
	stallRequests
	stallReplies
	slowLink
	slowOpen
	killClient
	pauseClient
	endSession
	faultKinds // the number of kinds
)

var faultNames = [faultKinds]string{
	killLeader: "kill-leader", pauseLeader: "pause-leader",
	killServer: "kill-server", pauseServer: "pause-server", cut: "cut",
	slowLink: "slow-link", slowOpen: "slow-open",
	stall: "stall", stallRequests: "stall-requests", stallReplies: "stall-replies",
	killClient: "kill-client", pauseClient: "pause-client", endSession: "end-session",
}

func (k faultKind) String() string { return faultNames[k] }

// strikesServer reports whether the target of a fault is a server.
func (k faultKind) strikesServer() bool { return k <= pauseServer }

// A fault strikes at a time of the plan, and its effect ends after a duration.
type fault struct {
	at, duration time.Duration
	kind         faultKind
	target       int // the index of a server or a client; unused for the leader
}

func (f fault) String() string {
	switch {
	case f.kind == killLeader || f.kind == pauseLeader:
		return fmt.Sprintf("%v for %v", f.kind, f.duration)
	case f.kind.strikesServer():
		return fmt.Sprintf("%v s%d for %v", f.kind, f.target+1, f.duration)
	case f.kind == endSession:
		return fmt.Sprintf("%v c%d", f.kind, f.target+1)
	}
	return fmt.Sprintf("%v c%d for %v", f.kind, f.target+1, f.duration)
}

const (
	gapMax      = 2500 * time.Millisecond // between two faults
	durationMin = 300 * time.Millisecond
	durationMax = 8 * time.Second // longer than a session
	quiet       = 10 * time.Second
)

// newPlan draws the faults of a run, in the order of time. The last seconds are quiet. At any time
// at most one server is down or paused, and a client has one fault.
func newPlan(seed uint64, length time.Duration, servers, clients int) []fault {
	random := rand.New(rand.NewPCG(seed, 0))
	busy := make([]time.Duration, clients+1) // until when; the last is for all servers
	var plan []fault
	var kinds []int // that are left until each has struck
	for at := gapMax; at < length-quiet; at += drawDuration(random, gapMax/5, gapMax) {
		if len(kinds) == 0 {
			kinds = random.Perm(int(faultKinds))
		}
		f := fault{
			at: at, kind: faultKind(kinds[0]),
			duration: drawDuration(random, durationMin, durationMax),
		}
		f.duration = min(f.duration, length-quiet-at)
		slot := clients
		if f.kind.strikesServer() {
			f.target = random.IntN(servers)
		} else {
			f.target = random.IntN(clients)
			slot = f.target
		}
		// A server that was down needs time to follow the leader again.
		if busy[slot]+time.Second > at {
			continue
		}
		busy[slot], kinds = at+f.duration, kinds[1:]
		plan = append(plan, f)
	}
	return plan
}

func drawDuration(random *rand.Rand, from, to time.Duration) time.Duration {
	return (from + time.Duration(random.Int64N(int64(to-from)))).Truncate(time.Millisecond)
}

// A moment is the beginning or the end of a fault.
type moment struct {
	at    time.Duration
	fault fault
	ends  bool
}

// moments returns the beginnings and the ends of a plan's faults, in the order of time.
func moments(plan []fault) []moment {
	var all []moment
	for _, f := range plan {
		all = append(all, moment{f.at, f, false}, moment{f.at + f.duration, f, true})
	}
	slices.SortStableFunc(all, func(a, b moment) int { return int(a.at - b.at) })
	return all
}
