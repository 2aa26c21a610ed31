package faults

import (
	"fmt"

	"github.com/interlock-sim/interlock/simzk"
)

// possible reports whether the kind is one that strikes the victim and is possible at the site.
func (k Kind) possible(v Victim, s site) bool {
	return k < Kinds && kindTable[k].target == v && kindTable[k].possible(s)
}

// apply injects the fault. It panics if the kind does not strike the victim.
func (k Kind) apply(v Victim, s site, severity Severity) {
	if k >= Kinds || kindTable[k].target != v {
		panic(fmt.Sprintf("faults: kind %d does not strike %s", k, victimNames[v]))
	}
	kindTable[k].apply(s, severity)
}

var victimNames = [...]string{
	OneClient: "a client", OneServer: "a server", LinkToServer: "a link to a server",
	LinkOfServers: "a link of servers",
}

// Possible reports whether the fault can strike the client now and would make a difference. Only
// the caller knows whether the process waits for a lock, which [Cancel] requires.
func Possible(k Kind, client *simzk.Link) bool {
	return k.possible(OneClient, site{client: client})
}

// Apply injects the fault at the client, where it must be [Possible]. [Cancel] does nothing to the
// cluster: the caller cancels the context. After a [Restart] the caller lets another process
// [simzk.Cluster.Join]. Apply panics if the fault does not strike clients.
func Apply(k Kind, severity Severity, cluster *simzk.Cluster, client *simzk.Link) {
	k.apply(OneClient, site{cluster: cluster, client: client}, severity)
}

// PossibleAt reports whether the fault can strike the server now and would make a difference.
// Servers are counted from 0. A server can be killed or partitioned only if it is one of several,
// serves, and is not partitioned already.
func PossibleAt(k Kind, cluster *simzk.Cluster, server int) bool {
	return k.possible(OneServer, site{cluster: cluster, server: server})
}

// ApplyAt injects the fault at the server, where it must be possible; see [PossibleAt]. It panics
// if the fault does not strike servers.
func ApplyAt(k Kind, severity Severity, cluster *simzk.Cluster, server int) {
	k.apply(OneServer, site{cluster: cluster, server: server}, severity)
}

// PossibleTo reports whether the fault can strike the link between the client and the server now
// and would make a difference. Servers are counted from 0.
func PossibleTo(k Kind, cluster *simzk.Cluster, client *simzk.Link, server int) bool {
	return k.possible(LinkToServer, site{cluster: cluster, client: client, server: server})
}

// ApplyTo injects the fault at the link between the client and the server, where it must be
// possible; see [PossibleTo]. It panics if the fault does not strike such links.
func ApplyTo(k Kind, cluster *simzk.Cluster, client *simzk.Link, server int) {
	k.apply(LinkToServer, site{cluster: cluster, client: client, server: server}, Severity{})
}

// PossibleBetween reports whether the fault can strike the link from one server to the other now
// and would make a difference: both run, and neither is partitioned from all the others. For a
// fault of both directions the lower server comes first.
func PossibleBetween(k Kind, cluster *simzk.Cluster, from, to int) bool {
	return k.possible(LinkOfServers, site{cluster: cluster, server: from, peer: to})
}

// ApplyBetween injects the fault at the link from one server to the other, where it must be
// possible; see [PossibleBetween]. It panics if the fault does not strike links of servers.
func ApplyBetween(k Kind, cluster *simzk.Cluster, from, to int) {
	k.apply(LinkOfServers, site{cluster: cluster, server: from, peer: to}, Severity{})
}
