package real

import (
	"errors"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client"
	"github.com/interlock-sim/interlock/simzk/client/internal/library"
)

// firstClient returns the client that exists from the start of the process.
func (r *Conn) firstClient() *Conn {
	if r.first != nil {
		return r.first
	}
	return r
}

// Connect opens a further client of the process by zk.Connect. The conditions are those of
// [model.Conn.Connect].
func (r *Conn) Connect() (client.Client, error) {
	first := r.firstClient()
	first.beginCall()
	defer first.endCall()
	switch {
	case first.isShutDown.Load():
		return nil, errors.New("interlock: the run is over")
	case first.cluster.Threaded():
		return nil, errors.New("interlock: threads share the client of their process")
	}
	next, err := first.family.Open(func() (*Conn, error) {
		next := &Conn{
			link: first.link, cluster: first.cluster, first: first, phase: library.Dialing,
			hosts: newHosts(first.hosts.count, first.firstHost),
		}
		return next, next.connect()
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}

// connectOpened lets the clients connect that the process has opened since the last call.
func (r *Conn) connectOpened() {
	for _, next := range r.family.TakeOpened() {
		old := r.family.Replace(next, func(other *Conn) bool {
			return other.phase == library.Terminated
		})
		if old != nil {
			next.link = old.link
			r.cluster.ReplaceEnd(next.link, end{next})
		} else {
			next.link = new(simzk.Link)
			r.cluster.AddConnection(next.link, r.link, end{next})
		}
		next.dialAt = r.cluster.Now()
		next.settle()
		next.redial()
	}
}

// terminate notes that the client is closed.
func (r *Conn) terminate() {
	if r.phase == library.Terminated {
		return
	}
	r.phase = library.Terminated
	if r.first != nil {
		r.first.family.Terminated()
	}
}
