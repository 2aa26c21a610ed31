package subjects

import (
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
)

// promisedMargin is what a recipe that keeps a lease promises for [history.Margin].
const promisedMargin = 100 * time.Millisecond

// leaseClaims are what a recipe that keeps a lease claims besides.
func (r *recipe) leaseClaims() []history.Property {
	claims := []history.Property{history.ClientMutualExclusion}
	if r.keepsMargin {
		claims = append(claims, history.Margin)
	}
	return claims
}

// validity is how long a lease is valid after its last confirmation. With several servers, the
// leader may have last heard of the session long before; see docs/internals/lease.md.
func (r *recipeLock) validity() time.Duration {
	if r.tellsLate { // The client notices a disconnection after 2/3 of the timeout.
		return r.timeout*2/3 + r.timeout
	}
	return r.timeout / 3
}

// keepLease closes lost when the node is gone, or when no request sent within the validity of the
// lease has confirmed that the node exists. It returns when stop is closed. The time of sending
// counts: the server renewed the session no earlier than that.
func (r *recipeLock) keepLease(node string, session int64, confirmed time.Time,
	lost chan<- struct{}, stop <-chan struct{},
) {
	answers := make(chan leaseAnswer, 1)
	asking := false
	for {
		deadline := confirmed.Add(r.validity())
		pause := min(r.timeout/8, max(0, time.Until(deadline)))
		if r.lateNotice {
			pause = r.timeout / 8
		}
		var answer leaseAnswer
		paused := false
		select {
		case <-stop:
			return
		case <-time.After(pause):
			paused = true
		case answer = <-answers:
			asking = false
		}
		// Below, it makes no difference which of several ready cases select chose.
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
			go r.confirmNode(node, session, answers)
		}
	}
}

// watchOwnNode watches the node of a granted lock and reports its loss when the watch fires.
func (r *recipeLock) watchOwnNode() error {
	exists, _, events, err := r.client.ExistsW(r.node)
	if err != nil {
		return err
	}
	if !exists {
		return errNodeGone
	}
	r.lost, r.stop = make(chan struct{}), make(chan struct{})
	go r.forwardLoss(events, r.lost, r.stop)
	return nil
}

func (r *recipeLock) forwardLoss(events <-chan zk.Event, lost chan<- struct{},
	stop <-chan struct{},
) {
	select {
	case event := <-events:
		if event.Err == nil || !r.deafHolder {
			close(lost)
		}
	case <-stop:
	}
}

// A leaseAnswer is the result of an attempt to confirm that the node exists.
type leaseAnswer struct {
	sent time.Time // when the confirmed request was sent; zero without an answer
	gone bool      // the node does not exist
}

// confirmNode sends whether the node exists. The sync prevents a partitioned follower from
// answering from stale data. If the process ends during the request, the node counts as gone.
func (r *recipeLock) confirmNode(node string, session int64, answers chan<- leaseAnswer) {
	answer := leaseAnswer{gone: true}
	defer func() { answers <- answer }()
	sent := time.Now()
	if _, err := r.client.Sync(r.directory); err != nil {
		answer = leaseAnswer{}
		return
	}
	exists, stat, err := r.client.Exists(node)
	switch {
	case err != nil:
		answer = leaseAnswer{}
	case exists && stat.EphemeralOwner == session:
		answer = leaseAnswer{sent: sent}
	}
}
