package tcp

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// hex formats a number as ZooKeeper does.
func hex(n int64) string { return fmt.Sprintf("0x%x", uint64(n)) }

// nodes returns the node count that a server reports: it counts the root twice because of its
// second name.
func nodes(m *member) int { return m.server.cluster.Tree().Size() + 1 }

func writeServer(w *strings.Builder, m *member) {
	fmt.Fprintf(w, "Zookeeper version: %s\n", m.server.config.Version)
	writeState(w, m)
}

func writeServerAndClients(w *strings.Builder, m *member) {
	fmt.Fprintf(w, "Zookeeper version: %s\nClients:\n", m.server.config.Version)
	for _, c := range m.sortedConnections() {
		c.writeSummary(w)
		w.WriteString(")\n")
	}
	w.WriteString("\n")
	writeState(w, m)
}

func writeState(w *strings.Builder, m *member) {
	s, cluster := &m.statistics, m.server.cluster
	fmt.Fprintf(w, "Latency min/avg/max: %d/%s/%d\n", s.latency.min, decimal(s.latency.average()),
		s.latency.max)
	fmt.Fprintf(w, "Received: %d\nSent: %d\nConnections: %d\nOutstanding: 0\n", s.received, s.sent,
		len(m.connections))
	fmt.Fprintf(w, "Zxid: %s\nMode: %s\nNode count: %d\n", hex(cluster.ServerZxid(m.index)),
		m.state(), nodes(m))
	if m.state() == Leader {
		// The simulated servers send no proposals.
		w.WriteString("Proposal sizes last/min/max: -1/-1/-1\n")
	}
}

// writeMonitor writes the metrics that the simulation has. A real server has some 500 more.
func writeMonitor(w *strings.Builder, m *member) {
	value := func(name string, value any) { fmt.Fprintf(w, "zk_%s\t%v\n", name, value) }
	s, cluster := &m.statistics, m.server.cluster
	ephemerals, watches := 0, 0
	local, global := m.sessions()
	for _, session := range global {
		ephemerals += len(session.Ephemeral)
	}
	for _, watch := range cluster.WatchList() {
		if watch.Server == m.index {
			watches++
		}
	}
	value("version", m.server.config.Version)
	value("server_state", m.state())
	m.monitorEnsemble(value)
	value("ephemerals_count", ephemerals)
	value("num_alive_connections", len(m.connections))
	value("avg_latency", decimal(s.latency.average()))
	value("min_latency", s.latency.min)
	value("max_latency", s.latency.max)
	value("outstanding_requests", 0)
	value("znode_count", nodes(m))
	value("watch_count", watches)
	value("global_sessions", len(global))
	value("local_sessions", len(local))
	value("packets_received", s.received)
	value("packets_sent", s.sent)
	value("bytes_received_count", s.bytes)
	value("uptime", time.Since(m.started).Milliseconds())
}

// monitorEnsemble writes the metrics that only members of an ensemble have.
func (m *member) monitorEnsemble(value func(string, any)) {
	switch m.state() {
	case Leader:
		followers := 0
		for _, other := range m.server.members {
			if other != m && other.serving() {
				followers++
			}
		}
		value("peer_state", "leading - broadcast")
		value("quorum_size", len(m.server.members))
		value("synced_followers", followers)
		value("synced_observers", 0)
		value("synced_non_voting_followers", 0)
		value("pending_syncs", 0)
	case Follower:
		value("peer_state", "following - broadcast")
		value("quorum_size", len(m.server.members))
	}
}

// writeConfiguration writes the server's configuration. Its data are in memory.
func writeConfiguration(w *strings.Builder, m *member) {
	s := m.server
	_, port, _ := strings.Cut(m.address[strings.LastIndex(m.address, "]")+1:], ":")
	fmt.Fprintf(w, "clientPort=%s\nsecureClientPort=-1\ndataDir=(memory)\ndataDirSize=0\n"+
		"dataLogDir=(memory)\ndataLogSize=0\n", port)
	fmt.Fprintf(w, "tickTime=%d\nmaxClientCnxns=0\n", s.tick.Milliseconds())
	low, high := s.config.Cluster.MinSessionTimeout, s.config.Cluster.MaxSessionTimeout
	if low == 0 {
		low = 2 * s.tick
	}
	if high == 0 {
		high = 20 * s.tick
	}
	fmt.Fprintf(w, "minSessionTimeout=%d\nmaxSessionTimeout=%d\n", low.Milliseconds(),
		high.Milliseconds())
	fmt.Fprintf(w, "clientPortListenBacklog=-1\nserverId=%d\n", m.serverID())
}

// serverID returns the id that the server reports: a standalone server reports 0.
func (m *member) serverID() int {
	if m.server.cluster.Standalone() {
		return 0
	}
	return m.id()
}

// writeEnvironment writes the host's environment. A real server describes its JVM here.
func writeEnvironment(w *strings.Builder, m *member) {
	name, _ := os.Hostname()
	directory, _ := os.Getwd()
	fmt.Fprintf(w, "Environment:\nzookeeper.version=%s\nhost.name=%s\ngo.version=%s\n",
		m.server.config.Version, name, runtime.Version())
	fmt.Fprintf(w, "os.name=%s\nos.arch=%s\nuser.dir=%s\n", runtime.GOOS, runtime.GOARCH, directory)
}
