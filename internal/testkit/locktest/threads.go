package locktest

import (
	"context"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
)

// A ThreadDefect is a defect of a lock whose handle several threads of a process use.
type ThreadDefect int

// The defects.
const (
	NoThreadDefect ThreadDefect = iota
	SharedCounter               // any thread reenters the lock of another
	SharedNode                  // a thread that unlocks deletes the node of the last that queued
)

// Handle returns a lock with a queue of nodes. Threads of one process first queue in the process,
// unless a defect lets them pass.
func Handle(defect ThreadDefect) scenarios.Subject {
	return scenarios.Subject{
		Name: "handle", Claims: append(history.SpinLock(), history.ClientMutualExclusion),
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			h := &handle{
				queue:  queueLock{p, 1, NoDefect},
				defect: defect, local: make(chan struct{}, 1),
			}
			return scenarios.LockerFunc(h.lock), nil
		},
	}
}

type handle struct {
	queue   queueLock
	defect  ThreadDefect
	local   chan struct{} // has an element while a thread uses the lock
	counter int           // how often the process has the lock or waits for it
	node    string        // to delete
}

func (h *handle) lock(ctx context.Context) (*scenarios.Hold, error) {
	switch h.defect {
	case SharedCounter:
		if h.counter++; h.counter > 1 {
			return &scenarios.Hold{Unlock: h.unlock}, nil
		}
	case NoThreadDefect:
		select {
		case h.local <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	own, err := h.queue.enter("w-")
	if err != nil {
		h.leave()
		return nil, err
	}
	if h.defect == SharedNode {
		h.node = own
	}
	if err := h.queue.wait(ctx, "w-", own); err != nil {
		h.leave()
		return nil, err
	}
	if h.defect != SharedNode {
		h.node = own
	}
	return &scenarios.Hold{Node: own, Unlock: h.unlock}, nil
}

func (h *handle) unlock(context.Context) error {
	if h.counter--; h.counter > 0 {
		return nil
	}
	defer h.leave()
	return h.queue.Client.Delete(h.node, -1)
}

func (h *handle) leave() {
	if h.defect == NoThreadDefect {
		<-h.local
	}
}
