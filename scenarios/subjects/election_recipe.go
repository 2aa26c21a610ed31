package subjects

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/scenarios"
)

var (
	// election is the recipe as an election: the node of a candidate has its name, and the first
	// candidate leads. The term is the zxid that created its node.
	election = recipe{election: true, fencing: true}
	// proclaimedElection is an election whose leader proclaims itself in the directory's data, at
	// the beginning and at the end of its term.
	proclaimedElection = recipe{election: true, fencing: true, proclaims: true}
)

// An electionRecipe is one process's handle on an election by the recipe.
type electionRecipe struct{ *recipeLock }

func (r electionRecipe) Lock(ctx context.Context) (*scenarios.Hold, error) {
	h, err := r.steps.lock(r.recipeLock, ctx)
	if err != nil || !r.proclaims {
		return h, err
	}
	if err := r.proclaim(); err != nil {
		r.steps.cleanUp(r.recipeLock, err)
		return nil, err
	}
	unlock := h.Unlock
	h.Unlock = func(ctx context.Context) error {
		_ = r.proclaim() // unlock reports the loss that made it fail
		return unlock(ctx)
	}
	return h, nil
}

// proclaim writes the leader's term, node and name into the directory's data, in one multi with a
// check that the node exists.
func (r electionRecipe) proclaim() error {
	data := fmt.Appendf(nil, "%d %s %s", r.token, r.node, r.name)
	write := &zk.SetDataRequest{Path: r.directory, Data: data, Version: -1}
	if r.lateProclaimer {
		_, err := r.client.Multi(write) // the defect: the leader may be another by now
		return err
	}
	_, err := r.client.Multi(&zk.CheckVersionRequest{Path: r.node, Version: -1}, write)
	return err
}

// Observe asks once who leads. A request that fails ends it.
func (r electionRecipe) Observe(_ context.Context, saw func(scenarios.Leader)) {
	// Another session may read from a server that lags.
	if _, err := r.client.Sync(r.directory); err != nil {
		return
	}
	leader, err := r.leader()
	if err == nil {
		saw(leader)
	}
}

func (r electionRecipe) leader() (l scenarios.Leader, err error) {
	if r.proclaims {
		data, _, err := r.client.Get(r.directory)
		if err == nil && len(data) > 0 {
			_, err = fmt.Sscanf(string(data), "%d %s %s", &l.Term, &l.Node, &l.Name)
		}
		return l, err
	}
	for {
		names, _, err := r.client.Children(r.directory)
		if err != nil || len(names) == 0 {
			return l, err
		}
		slices.SortFunc(names, func(a, b string) int {
			return strings.Compare(sequenceDigits(a), sequenceDigits(b))
		})
		first := names[0]
		if r.newestLeads {
			first = names[len(names)-1]
		}
		name, stat, err := r.client.Get(r.directory + "/" + first)
		if err != zk.ErrNoNode {
			l.Node = r.directory + "/" + first
			if err == nil {
				l.Term, l.Name = stat.Czxid, string(name)
			}
			return l, err
		}
	}
}
