package real

import (
	"runtime"

	"github.com/interlock-sim/interlock/internal/base/refusal"
)

// tearDown closes all clients of the process. Waiting calls get zk.ErrConnectionClosed, and the
// methods of Conn end their goroutine.
func (r *Conn) tearDown() {
	r.mu.Lock()
	if !r.isTornDown.Swap(true) && r.first == nil {
		close(r.over)
	}
	dials := r.dials
	r.dials = nil
	r.mu.Unlock()
	for _, dial := range dials {
		dial.answer <- nil
	}
	if r.pipe != nil {
		r.pipe.abandon()
	}
	r.terminate()
	go r.closeOnce()
	for _, other := range r.family.All() {
		other.isShutDown.Store(r.isShutDown.Load())
		other.tearDown()
	}
}

// shutDown closes all clients of the process. Waiting calls get zk.ErrConnectionClosed.
func (r *Conn) shutDown() {
	r.isShutDown.Store(true)
	r.tearDown()
}

// closeOnce closes the client, or waits until another goroutine has. In the client itself a second
// Close would block on a mutex, which does not count as durably blocked in a bubble.
func (r *Conn) closeOnce() {
	r.mu.Lock()
	quits, first := r.closeDone, r.closeDone == nil
	if first {
		quits = make(chan struct{})
		r.closeDone = quits
	}
	r.mu.Unlock()
	if !first {
		<-quits
		return
	}
	defer close(quits)
	r.zk.Close()
}

// beginCall begins a call. It notifies the cluster itself, as a call that the client queues writes
// nothing to a connection.
func (r *Conn) beginCall() {
	if r.exitIfDone(); r.isShutDown.Load() {
		r.late.Count()
	}
	r.activeCalls.Add(1)
	if thread := r.cluster.Thread(); thread != 0 {
		r.threads.begin(thread)
	}
	if r.cluster.GathersFacts() {
		r.sites.begin()
	}
	r.firstClient().link.Notify()
}

// endCall ends a call.
func (r *Conn) endCall() {
	r.activeCalls.Add(-1)
	if thread := r.cluster.Thread(); thread != 0 {
		r.threads.end(thread)
	}
	if r.cluster.GathersFacts() {
		r.sites.end()
	}
	r.exitIfDone()
}

// exitIfDone ends the goroutine if the run is torn down. If its process has crashed, the goroutine
// waits for that.
func (r *Conn) exitIfDone() {
	first := r.firstClient()
	if first.run != r.cluster.Activity() {
		refusal.Stale()
	}
	first.link.DemandOwn()
	switch {
	case r.isShutDown.Load():
	case first.link.Crashed():
		<-first.over
		runtime.Goexit()
	case r.isTornDown.Load():
		runtime.Goexit()
	}
}
