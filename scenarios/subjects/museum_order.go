package subjects

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/scenarios"
)

func sortByDigits(names []string) {
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(sequenceDigits(a), sequenceDigits(b))
	})
}

// earlierNodes orders contenders by the zxid of their creation, as package lock does.
func (r *recipeLock) earlierNodes() ([]string, error) {
	names, _, err := r.client.Children(r.directory)
	if err != nil {
		return nil, err
	}
	if names, err = r.deleteDuplicates(names); err != nil {
		return nil, err
	}
	created := make(map[string]int64)
	for _, name := range names {
		exists, stat, err := r.client.Exists(r.directory + "/" + name)
		if err != nil {
			return nil, err
		}
		if exists {
			created[name] = stat.Czxid
		}
	}
	own, found := created[r.node[len(r.directory)+1:]]
	if !found {
		return nil, errNodeGone
	}
	ahead := slices.DeleteFunc(names, func(name string) bool {
		zxid, exists := created[name]
		return !exists || zxid >= own
	})
	slices.SortFunc(ahead, func(a, b string) int { return int(created[a] - created[b]) })
	return ahead, nil
}

// predecessorsByNumber compares sequence numbers with their sign, and only them.
func (r *recipeLock) predecessorsByNumber() ([]string, error) {
	names, _, err := r.client.Children(r.directory)
	if err != nil {
		return nil, err
	}
	if names, err = r.deleteDuplicates(names); err != nil {
		return nil, err
	}
	own := sequenceNumber(r.node)
	ahead := slices.DeleteFunc(names, func(name string) bool { return sequenceNumber(name) >= own })
	slices.SortFunc(ahead, func(a, b string) int { return sequenceNumber(a) - sequenceNumber(b) })
	return ahead, nil
}

// sequenceNumber returns the sequence number at the end of a name; a second minus sign before it is
// its own.
func sequenceNumber(name string) int {
	at := strings.LastIndexByte(name, '-')
	if at > 0 && name[at-1] == '-' {
		return -number(name[at+1:])
	}
	return number(name[at+1:])
}

func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// foreignNode is the name of a node that no contender has made.
const foreignNode = "0"

// lockBesideForeignNode makes sure that the directory holds the foreign node.
func (r *recipeLock) lockBesideForeignNode(ctx context.Context) (*scenarios.Hold, error) {
	if _, err := r.client.Create(r.directory+"/"+foreignNode, nil, 0, openACL); err != nil &&
		err != zk.ErrNodeExists {
		return nil, err
	}
	return r.lock(ctx)
}

// predecessorsButForeign ignores the foreign node.
func (r *recipeLock) predecessorsButForeign() ([]string, error) {
	ahead, err := r.predecessors()
	return slices.DeleteFunc(ahead, func(name string) bool { return name == foreignNode }), err
}

// waitOrRequeue joins the queue again when its predecessor no longer exists.
func (r *recipeLock) waitOrRequeue(ctx context.Context, ahead []string) (bool, error) {
	exists, _, events, err := r.client.ExistsW(r.directory + "/" + ahead[len(ahead)-1])
	if err != nil {
		return false, err
	}
	if !exists {
		r.deleteNode()
		time.Sleep(retryDelay)
		return false, r.create(ctx)
	}
	select {
	case event := <-events:
		return true, event.Err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
