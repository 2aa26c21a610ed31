package faults_test

import (
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/simzk"
)

// The link between two servers can be partitioned once, and each of its directions once. No fault
// strikes a link of a server that is down or partitioned from all the others.
func TestPossibleBetween(t *testing.T) {
	possible := func(c *simzk.Cluster, k faults.Kind) (links int) {
		for from := range c.Servers() {
			for to := range c.Servers() {
				if faults.PossibleBetween(k, c, from, to) {
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
		faults.ApplyBetween(faults.PartitionLinkOneway, c, 2, 0)
		want(c, "one direction", 2, 5)
		faults.ApplyBetween(faults.PartitionLinkOneway, c, 0, 2)
		want(c, "the other", 2, 4)
		c.HealLink(0, 2)
		c.HealLink(2, 0)
		faults.ApplyBetween(faults.PartitionLink, c, 0, 1)
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
			if !faults.PossibleTo(faults.Unreachable, c, link, 0) {
				t.Fatal("s1 cannot become unreachable")
			}
			faults.ApplyTo(faults.Unreachable, c, link, 0)
			if faults.PossibleTo(faults.Unreachable, c, link, 0) ||
				!faults.PossibleTo(faults.Unreachable, c,
					link, 1) {
				t.Error("s1 can become unreachable again, or s2 cannot")
			}
		}
		if first.ServerIndex() != 1 || !first.Connected() || second.ServerIndex() != 1 ||
			!second.Connected() {
			t.Errorf("c1 is at s%d, c2 at s%d", first.ServerIndex()+1, second.ServerIndex()+1)
		}
		c.Crash(first)
		if faults.PossibleTo(faults.Unreachable, c, first, 2) ||
			faults.PossibleTo(faults.Cut, c, second,
				2) {
			t.Error("a fault of no link strikes one, or a fault strikes the link of a crashed " +
				"client")
		}
	})
	withEnsemble(t, 1, func(c *simzk.Cluster) {
		if faults.PossibleTo(faults.Unreachable, c, c.Links()[0], 0) {
			t.Error("the only server can become unreachable")
		}
	})
}

// A fault that does not strike such links panics.
func TestUnknownLinkFault(t *testing.T) {
	withEnsemble(t, 3, func(c *simzk.Cluster) {
		for name, apply := range map[string]func(){
			"a client's link": func() { faults.ApplyTo(faults.PartitionLink, c, c.Links()[0], 0) },
			"servers":         func() { faults.ApplyBetween(faults.Unreachable, c, 0, 1) },
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
