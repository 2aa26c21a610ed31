package tcp

import "fmt"

// A Status describes an ensemble.
type Status struct {
	Servers  []MemberStatus `json:"servers"`
	Zxid     string         `json:"zxid"` // in hexadecimal
	Nodes    int            `json:"nodes"`
	Sessions int            `json:"sessions"`
	Watches  int            `json:"watches"`
}

// A MemberStatus describes one server.
type MemberStatus struct {
	Server      int    `json:"server"` // its id
	Address     string `json:"address"`
	State       State  `json:"state"`
	Zxid        string `json:"zxid"` // of the last transaction that it has applied
	Connections int    `json:"connections"`
	// Faults are the faults in force, such as "delay 5ms".
	Faults []string `json:"faults"`
}

// faults returns the faults in force. The caller holds the lock.
func (m *member) faults() []string {
	faults := []string{}
	add := func(inForce bool, format string, values ...any) {
		if inForce {
			faults = append(faults, fmt.Sprintf(format, values...))
		}
	}
	cluster, n := m.server.cluster, &m.network
	rate := cluster.ClockRate(m.index)
	add(n.paused, "paused")
	add(n.cut, "cut")
	for _, to := range m.server.members {
		add(to != m && cluster.LinkPartitioned(m.index, to.index), "cut to %d", to.id())
	}
	add(n.delay > 0, "delay %v", n.delay)
	add(n.requestsStalled, "requests stalled")
	add(n.repliesStalled, "replies stalled")
	add(cluster.DiskStalled(m.index), "disk stalled")
	add(n.repliesToLose > 0, "replies to lose: %d", n.repliesToLose)
	add(m.replication.lag > 0, "lag %v", m.replication.lag)
	add(rate != 100, "clock %d %%", rate)
	return faults
}

// A State is the role of a server.
type State string

// The states of a server.
const (
	Standalone State = "standalone" // serves without an ensemble
	Leader     State = "leader"
	Follower   State = "follower"
	Observer   State = "observer"
	Looking    State = "looking" // runs without a leader and serves no clients
	Down       State = "down"    // does not run
)

// state returns the member's role. The caller holds the lock.
func (m *member) state() State {
	cluster := m.server.cluster
	switch {
	case m.listener == nil:
		return Down
	case !cluster.Serving(m.index):
		return Looking
	case cluster.Standalone():
		return Standalone
	case cluster.Leading(m.index):
		return Leader
	case cluster.Observer(m.index):
		return Observer
	}
	return Follower
}

// Status describes the ensemble.
func (s *Server) Status() Status {
	var status Status
	s.do(func() { status = s.status() })
	return status
}

// status implements Status. The caller holds the lock.
func (s *Server) status() Status {
	watches, _ := s.cluster.Watches()
	status := Status{
		Zxid: hex(s.cluster.Zxid()), Nodes: s.cluster.Tree().Size(),
		Sessions: s.cluster.Sessions(), Watches: watches,
	}
	for _, m := range s.members {
		status.Servers = append(status.Servers, MemberStatus{
			Server: m.id(), Address: m.address, State: m.state(),
			Zxid:        hex(s.cluster.ServerZxid(m.index)),
			Connections: len(m.connections), Faults: m.faults(),
		})
	}
	return status
}
