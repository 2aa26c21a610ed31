package faults

import (
	"fmt"

	"github.com/interlock-sim/interlock/simzk"
)

// PossibleTo tells whether the fault can strike the link between the client and the server now and
// would make a difference. Servers are counted from 0.
func PossibleTo(k Kind, cluster *simzk.Cluster, client *simzk.Link, server int) bool {
	return k == Unreachable && cluster.Servers() > 1 && !client.Crashed() && !client.Blocked(server)
}

// ApplyTo does the fault to the link between the client and the server. It must be possible: see
// [PossibleTo].
func ApplyTo(k Kind, cluster *simzk.Cluster, client *simzk.Link, server int) {
	if k != Unreachable {
		panic(fmt.Sprintf("faults: kind %d strikes no link to a server", k))
	}
	cluster.BlockClient(client, server)
}

// PossibleBetween tells whether the fault can strike the link between two servers now and would
// make a difference: both run and are not cut off altogether. A link that is parted has no order;
// the lower server comes first.
func PossibleBetween(k Kind, cluster *simzk.Cluster, from, to int) bool {
	if from == to || !cluster.Up(from) || !cluster.Up(to) || cluster.Partitioned(from) ||
		cluster.Partitioned(to) || cluster.LinkPartitioned(from, to) {
		return false
	}
	return k == PartitionLinkOneway || k == PartitionLink && from < to &&
		!cluster.LinkPartitioned(to, from)
}

// ApplyBetween does the fault to the link between two servers. It must be possible: see
// [PossibleBetween].
func ApplyBetween(k Kind, cluster *simzk.Cluster, from, to int) {
	switch k {
	case PartitionLink:
		cluster.PartitionLink(from, to)
		cluster.PartitionLink(to, from)
	case PartitionLinkOneway:
		cluster.PartitionLink(from, to)
	default:
		panic(fmt.Sprintf("faults: kind %d strikes no link of servers", k))
	}
}
