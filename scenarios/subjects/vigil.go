package subjects

import (
	"context"
	"time"
)

// keepVigil tells of the loss of a lock: at the latest when so much of the session's time has passed without an answer
// that shows that the node stands that the session may be about to end. It closes lost then, or returns when stop is
// closed, or the context of the call of Lock is done. What counts is when the request was sent, for the server has heard of the session no earlier than that.
func (r *recipeLock) keepVigil(ctx context.Context, node string, session int64, confirmed time.Time, lost chan<- struct{}, stop <-chan struct{}) {
	answers := make(chan vigilAnswer, 1)
	for asking := false; ; {
		var ask, late <-chan time.Time
		if !asking {
			ask = time.After(r.timeout / 8)
		}
		if !r.lateNotice {
			late = time.After(time.Until(confirmed.Add(r.timeout * 3 / 4)))
		}
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-late:
			close(lost)
			return
		case <-ask:
			asking = true
			go r.confirm(node, session, answers)
		case answer := <-answers:
			asking = false
			if answer.gone {
				close(lost)
				return
			}
			if !answer.sent.IsZero() {
				confirmed = answer.sent
			}
		}
	}
}

// A vigilAnswer says when a request was sent whose answer shows that the node stands, or that it is gone.
type vigilAnswer struct {
	sent time.Time // zero if there was no answer
	gone bool
}

// confirm asks for the node. The sync keeps a follower that is cut off from answering out of its own memory.
func (r *recipeLock) confirm(node string, session int64, answers chan<- vigilAnswer) {
	sent := time.Now()
	if _, err := r.client.Sync(r.directory); err != nil {
		answers <- vigilAnswer{}
		return
	}
	exists, stat, err := r.client.Exists(node)
	switch {
	case err != nil:
		answers <- vigilAnswer{}
	case !exists || stat.EphemeralOwner != session:
		answers <- vigilAnswer{gone: true}
	default:
		answers <- vigilAnswer{sent: sent}
	}
}
