package zookeeper_test

import (
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/zookeeper"
	"github.com/interlock-sim/interlock/simzk"
)

// The link between two servers can be partitioned once, and each of its directions once. No fault
// strikes a link of a server that is down or partitioned from all the others.
func TestPossibleBetween(t *testing.T) {
	possible := func(c *simzk.Cluster, k faults.Kind) (links int) {
		for from := range c.Servers() {
			for to := range c.Servers() {
				if zookeeper.AtLinkOf(c, from, to).Possible(k) {
					links++
				}
			}
		}
		return links
	}
	want := func(c *simzk.Cluster, after string, both, oneway int) {
		t.Helper()
		if p, m := possible(c, faults.PartitionLink),
			possible(c, faults.PartitionLinkOneway); p != both || m != oneway {
			t.Errorf("after %s %d links and %d directions can be partitioned, want %d and %d",
				after, p, m,
				both, oneway)
		}
	}
	withEnsemble(t, 3, func(c *simzk.Cluster) {
		want(c, "nothing", 3, 6)
		zookeeper.AtLinkOf(c, 2, 0).Inject(faults.PartitionLinkOneway, faults.DefaultSeverity())
		want(c, "one direction", 2, 5)
		zookeeper.AtLinkOf(c, 0, 2).Inject(faults.PartitionLinkOneway, faults.DefaultSeverity())
		want(c, "the other", 2, 4)
		c.HealLink(0, 2)
		c.HealLink(2, 0)
		zookeeper.AtLinkOf(c, 0, 1).Inject(faults.PartitionLink, faults.DefaultSeverity())
		want(c, "a link", 2, 4)
		c.KillServer(1)
		want(c, "the death of a server", 1, 2)
		c.PartitionServer(2, true, true)
		want(c, "the partition of another", 0, 0)
	})
	withEnsemble(t, 1, func(c *simzk.Cluster) { want(c, "nothing with one server", 0, 0) })
}

// A client that cannot reach its server connects to another. One that cannot reach another server
// keeps its connection.
func TestUnreachable(t *testing.T) {
	withEnsemble(t, 3, func(c *simzk.Cluster) {
		first, second := c.Links()[0], c.Links()[1]
		for _, link := range []*simzk.Link{first, second} {
			if !zookeeper.AtLinkTo(c, link, 0).Possible(faults.Unreachable) {
				t.Fatal("s1 cannot become unreachable")
			}
			zookeeper.AtLinkTo(c, link, 0).Inject(faults.Unreachable, faults.DefaultSeverity())
			if zookeeper.AtLinkTo(c, link, 0).Possible(faults.Unreachable) ||
				!zookeeper.AtLinkTo(c, link, 1).Possible(faults.Unreachable) {
				t.Error("s1 can become unreachable again, or s2 cannot")
			}
		}
		if first.ServerIndex() != 1 || !first.Connected() || second.ServerIndex() != 1 ||
			!second.Connected() {
			t.Errorf("c1 is at s%d, c2 at s%d", first.ServerIndex()+1, second.ServerIndex()+1)
		}
		c.Crash(first)
		if zookeeper.AtLinkTo(c, first, 2).Possible(faults.Unreachable) ||
			zookeeper.AtLinkTo(c, second, 2).Possible(faults.Cut) {
			t.Error("a fault of no link strikes one, or a fault strikes the link of a crashed " +
				"client")
		}
	})
	withEnsemble(t, 1, func(c *simzk.Cluster) {
		if zookeeper.AtLinkTo(c, c.Links()[0], 0).Possible(faults.Unreachable) {
			t.Error("the only server can become unreachable")
		}
	})
}

// A fault that does not strike such links panics.
func TestUnknownLinkFault(t *testing.T) {
	withEnsemble(t, 3, func(c *simzk.Cluster) {
		for name, apply := range map[string]func(){
			"a client's link": func() {
				zookeeper.AtLinkTo(c, c.Links()[0], 0).
					Inject(faults.PartitionLink, faults.DefaultSeverity())
			},
			"servers": func() {
				zookeeper.AtLinkOf(c, 0, 1).Inject(faults.Unreachable, faults.DefaultSeverity())
			},
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("no panic for a fault that does not strike %s", name)
					}
				}()
				apply()
			}()
		}
	})
}
