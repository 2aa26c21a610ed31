package zookeeper

import (
	"cmp"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/simzk"
)

// slowLink and the other two give both directions of a link, or one, a latency that nothing ends.
var (
	slowLink     = slowDirections(true, true)
	slowRequests = slowDirections(true, false)
	slowReplies  = slowDirections(false, true)
)

// slowDirections returns how ZooKeeper suffers slow directions of a link. What waits for the end of
// a stall or a pause is not slowed down.
func slowDirections(requests, replies bool) faultAction {
	latency := func(slow bool, severity faults.Severity) time.Duration {
		if slow {
			return cmp.Or(severity.Latency, faults.DefaultLatency)
		}
		return 0
	}
	return faultAction{
		possible: func(s Site) bool {
			slowRequests, slowReplies := s.client.Slow()
			stalledRequests, stalledReplies := s.client.Stalled()
			return !s.client.Crashed() && !s.client.Paused() && !s.client.Held() &&
				!stalledRequests && !stalledReplies &&
				(requests && !slowRequests || replies && !slowReplies)
		},
		apply: func(s Site, severity faults.Severity) {
			s.cluster.SlowLink(s.client, latency(requests, severity), latency(replies, severity))
		},
	}
}

// slowOpen makes the server's answer to a handshake late.
var slowOpen = faultAction{
	possible: func(s Site) bool { return s.client.CanSlowOpen() },
	apply: func(s Site, _ faults.Severity) {
		for _, link := range s.connections((*simzk.Link).CanSlowOpen) {
			s.cluster.SlowOpen(link)
		}
	},
}
