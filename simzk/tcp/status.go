package tcp

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
	Connections int    `json:"connections"`
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
	case cluster.Leader(m.index):
		return Leader
	case cluster.Observer(m.index):
		return Observer
	}
	return Follower
}

// Status describes the ensemble.
func (s *Server) Status() Status {
	var status Status
	s.do(func() {
		watches, _ := s.cluster.Watches()
		status = Status{
			Zxid: hex(s.cluster.Zxid()), Nodes: s.cluster.Tree().Size(),
			Sessions: s.cluster.Sessions(),
			Watches:  watches,
		}
		for _, m := range s.members {
			status.Servers = append(status.Servers, MemberStatus{
				Server: m.id(), Address: m.address, State: m.state(),
				Connections: len(m.connections),
			})
		}
	})
	return status
}
