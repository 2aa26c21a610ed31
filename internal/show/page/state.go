package page

import (
	"strings"

	"github.com/interlock-sim/interlock/history"
)

// change records what an event changes.
func (b *builder) change(i int) {
	e := &b.graph.Events[i]
	switch {
	case e.Kind >= history.Serve && e.Kind <= history.Leading:
		b.changeEnsemble(i)
	case e.Process != 0:
		b.changeProcess(i)
	}
	b.queue.Observe(e, i)
}

// at returns the change of a step.
func (b *builder) at(i int) *Change {
	if b.Steps[i].Change == nil {
		b.Steps[i].Change = new(Change)
	}
	return b.Steps[i].Change
}

// process returns the state of a process.
func (b *builder) process(number int32) *ProcessState {
	p := b.processes[number]
	if p == nil {
		p = &ProcessState{ID: number, Belief: Idle}
		b.processes[number] = p
	}
	return p
}

// changeProcess records what an event changes of its process.
func (b *builder) changeProcess(i int) {
	e := &b.graph.Events[i]
	p := b.process(e.Process)
	before := *p
	switch e.Kind {
	case history.LockCall:
		p.Belief, p.Attempt, p.Node = Waits, e.Attempt, nil
	case history.LockReturn:
		p.Belief = Holds
		path := e.Path
		if n := b.queue.Granted(e); n >= 0 {
			path = b.queue.Nodes[n].Path
		}
		if e.Err != "" {
			p.Belief = Failed
		} else if path != "" {
			node := b.node(path)
			p.Node = &node
		}
	case history.Enter:
		p.Inside = true
	case history.Leave:
		p.Inside = false
	case history.Lost:
		p.Belief = Lost
	case history.UnlockCall:
		p.Belief = Unlocks
	case history.UnlockReturn:
		p.Belief, p.Node = Idle, nil
		if e.Err != "" {
			p.Belief = Failed
		}
	case history.Finished:
		p.Belief, p.Node, p.Request = Finished, nil, ""
	case history.Crashed:
		p.Belief, p.Inside, p.Request = Crashed, false, ""
	case history.SessionState:
		p.Connection = strings.ReplaceAll(e.Name, "-", " ")
	case history.Send:
		p.Request, b.requests[e.Process] = strings.TrimSpace(e.Op+" "+b.names.Of(e.Path)), e.Request
	case history.Reply:
		if b.requests[e.Process] == e.Request {
			p.Request = ""
		}
	case history.Fault:
		p.Paused = b.pauses(i)
	case history.Resumed:
		p.Paused = false
	case history.WatchEvent:
		b.watchDelivered(i)
	}
	if *p != before || i == 0 {
		b.at(i).Processes = append(b.at(i).Processes, *p)
	}
}

// pauses reports whether a fault is a pause: the process resumes before another fault strikes it.
func (b *builder) pauses(fault int) bool {
	process := b.graph.Events[fault].Process
	for i := fault + 1; i < len(b.graph.Events); i++ {
		switch e := &b.graph.Events[i]; {
		case e.Process != process:
		case e.Kind == history.Resumed:
			return true
		case e.Kind == history.Fault:
			return false
		}
	}
	return false
}

// watchDelivered records that the event of a watch has arrived.
func (b *builder) watchDelivered(i int) {
	number := b.graph.Events[i].Watch
	if b.watches[number] != nil {
		delete(b.watches, number)
		b.at(i).Watches = append(b.at(i).Watches, WatchState{ID: number, Gone: true})
	}
}

// changeEnsemble records what an event changes in the ensemble.
func (b *builder) changeEnsemble(i int) {
	e := &b.graph.Events[i]
	switch e.Kind {
	case history.NodeCreated, history.NodeChanged, history.NodeDeleted:
		b.changeNode(i)
	case history.WatchArmed:
		w := &WatchState{
			ID: e.Watch, Process: e.Process, On: b.names.Of(e.Path), Kind: e.Name,
		}
		b.watches[e.Watch] = w
		b.at(i).Watches = append(b.at(i).Watches, *w)
	case history.WatchFired:
		if w := b.watches[e.Watch]; w != nil {
			w.Fired = strings.ReplaceAll(e.Name, "-", " ")
			b.at(i).Watches = append(b.at(i).Watches, *w)
		}
	case history.WatchGone:
		if b.watches[e.Watch] != nil {
			delete(b.watches, e.Watch)
			b.at(i).Watches = append(b.at(i).Watches, WatchState{ID: e.Watch, Gone: true})
		}
	case history.SessionOpened, history.SessionExpired, history.SessionClosed:
		state := map[history.Kind]string{
			history.SessionOpened: SessionOpen, history.SessionExpired: SessionExpired,
			history.SessionClosed: SessionClosed,
		}[e.Kind]
		b.at(i).Sessions = append(b.at(i).Sessions,
			SessionState{sessionID(e.Session), e.Process, state})
	}
	b.changeServer(i)
}

// changeNode records the change of a znode.
func (b *builder) changeNode(i int) {
	e := &b.graph.Events[i]
	n := NodeState{ID: b.node(e.Path)}
	switch created := b.graph.Created(e.Path, i+1); {
	case e.Kind == history.NodeDeleted:
		n.Gone = true
	case created >= 0:
		n.Process = b.graph.Events[created].Process
		if owner := b.graph.Events[created].Session; owner != 0 {
			n.Session = sessionID(owner)
		}
	}
	if written, known := b.graph.Written(i); known {
		n.Data = written.Data
	}
	b.at(i).Nodes = append(b.at(i).Nodes, n)
}

// changeServer records which transactions a server has, if there are several.
func (b *builder) changeServer(i int) {
	e := &b.graph.Events[i]
	if e.Server == 0 || e.Zxid == 0 || e.Kind == history.WatchArmed {
		return
	}
	if e.Kind == history.Leading {
		for _, lane := range b.Lanes {
			if s := b.servers[lane.Number]; lane.Kind == Server && s != nil && s.Leads {
				s.Leads = false
				b.at(i).Servers = append(b.at(i).Servers, *s)
			}
		}
	}
	s := b.servers[e.Server]
	if s == nil {
		s = &ServerState{ID: e.Server}
		b.servers[e.Server] = s
	}
	zxid := history.FormatZxid(e.Zxid)
	switch e.Kind {
	case history.Logged:
		s.Logged = zxid
	case history.Leading:
		s.Leads = true
	case history.NodeCreated, history.NodeDeleted, history.NodeChanged:
		s.Leads, s.Logged, s.Applied = true, zxid, zxid
	default:
		s.Applied = zxid
	}
	b.at(i).Servers = append(b.at(i).Servers, *s)
}

// node returns the index of a znode.
func (b *builder) node(path string) int {
	n, ok := b.nodes[path]
	if !ok {
		n = len(b.Nodes)
		b.nodes[path] = n
		b.Nodes = append(b.Nodes, Node{b.names.Of(path), path})
	}
	return n
}
