package subjects

import (
	"time"

	"github.com/go-zookeeper/zk"
)

// keepVigil tells of the loss of a lock: at the latest when so much of the session's time has
// passed without an answer that shows that the node stands that the session may be about to end. It
// closes lost then, or returns when stop is closed. What counts is when the request was sent, for
// the server has heard of the session no earlier than that.
func (r *recipeLock) keepVigil(node string, session int64, confirmed time.Time,
	lost chan<- struct{}, stop <-chan struct{},
) {
	answers := make(chan vigilAnswer, 1)
	asking := false
	for {
		deadline := confirmed.Add(r.timeout * 3 / 4)
		pause := min(r.timeout/8, max(0, time.Until(deadline)))
		if r.lateNotice {
			pause = r.timeout / 8
		}
		var answer vigilAnswer
		paused := false
		select {
		case <-stop:
			return
		case <-time.After(pause):
			paused = true
		case answer = <-answers:
			asking = false
		}
		// Which of several that were ready at the same instant was chosen makes no difference from
		// here on.
		late := !r.lateNotice && !time.Now().Before(deadline)
		switch {
		case isClosed(stop):
			return
		case late, answer.gone:
			close(lost)
			return
		case !answer.sent.IsZero():
			confirmed = answer.sent
		case paused && !asking && (r.lateNotice || r.client.State() != zk.StateDisconnected):
			asking = true
			go r.confirm(node, session, answers)
		}
	}
}

// listen watches the node of a lock that was granted, and tells of its loss what the watch tells.
func (r *recipeLock) listen() error {
	exists, _, events, err := r.client.ExistsW(r.node)
	if err != nil {
		return err
	}
	if !exists {
		return errNodeGone
	}
	r.lost, r.stop = make(chan struct{}), make(chan struct{})
	go r.tellLoss(events, r.lost, r.stop)
	return nil
}

func (r *recipeLock) tellLoss(events <-chan zk.Event, lost chan<- struct{}, stop <-chan struct{}) {
	select {
	case event := <-events:
		if event.Err == nil || !r.deafHolder {
			close(lost)
		}
	case <-stop:
	}
}

// A vigilAnswer says when a request was sent whose answer shows that the node stands, or that it is
// gone.
type vigilAnswer struct {
	sent time.Time // zero if there was no answer
	gone bool
}

// confirm asks for the node. The sync keeps a follower that is cut off from answering out of its
// own memory. Where the process ends while it asks, the node is as good as gone.
func (r *recipeLock) confirm(node string, session int64, answers chan<- vigilAnswer) {
	answer := vigilAnswer{gone: true}
	defer func() { answers <- answer }()
	sent := time.Now()
	if _, err := r.client.Sync(r.directory); err != nil {
		answer = vigilAnswer{}
		return
	}
	exists, stat, err := r.client.Exists(node)
	switch {
	case err != nil:
		answer = vigilAnswer{}
	case exists && stat.EphemeralOwner == session:
		answer = vigilAnswer{sent: sent}
	}
}
