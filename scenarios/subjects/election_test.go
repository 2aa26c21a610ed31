package subjects_test

import (
	"path"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client"
)

// A search finds that the leaders of an election read the proclamation of an earlier term.
func TestElectionReadsEarlierTerm(t *testing.T) {
	subject := subjects.Election()
	open := subject.Open
	subject.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		stale := *p
		stale.Client = &firstProclamation{Client: p.Client}
		return open(&stale)
	}
	if result, i := search(t, subject, 1, 1, 1, faults.Plan{}); result != nil {
		t.Errorf("schedule %d of one term: %v", i, result.Violations[0])
	}
	result, _ := search(t, subject, 1, 2, 1, faults.Plan{})
	if result == nil || !slices.ContainsFunc(result.Violations, func(v *history.Violation) bool {
		return v.Property == history.OneLeaderPerTerm
	}) {
		t.Errorf("two terms do not violate %s", history.OneLeaderPerTerm)
	}
}

// A firstProclamation is a client that reads the first proclamation again and again.
type firstProclamation struct {
	client.Client
	data []byte
	stat *zk.Stat
}

func (c *firstProclamation) Get(name string) ([]byte, *zk.Stat, error) {
	if path.Base(name) != "leader" {
		return c.Client.Get(name)
	}
	if c.stat != nil {
		return c.data, c.stat, nil
	}
	data, stat, err := c.Client.Get(name)
	if err == nil {
		c.data, c.stat = data, stat
	}
	return data, stat, err
}
