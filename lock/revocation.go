package lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// A revocation is what stands in the data of a lock's directory, as JSON: which contenders are
// asked to give the lock back. It is not in their nodes, as the contender behind one would take the
// change for a release: see giveWay.
type revocation struct {
	Revoked []string `json:"revoked"` // the names of their nodes
}

// readRevocation returns what stands in a directory. Data that somebody else has put there are an
// error.
func readRevocation(data []byte) (revocation, error) {
	var n revocation
	if len(data) == 0 {
		return n, nil
	}
	if err := json.Unmarshal(data, &n); err != nil {
		return revocation{}, fmt.Errorf("they are not those of a lock: %w", err)
	}
	return n, nil
}

// postRevocation asks contenders to give the lock back, and leaves out those that are gone.
func (q *queue) postRevocation(names []string, gone map[string]bool) error {
	for {
		data, stat, err := q.client.Get(q.path)
		if err != nil {
			return err
		}
		n, err := readRevocation(data)
		if err != nil {
			return fmt.Errorf("lock: nobody can be asked through the data of %s: %w", q.path, err)
		}
		asked := len(n.Revoked)
		for _, name := range names {
			if !slices.Contains(n.Revoked, name) {
				n.Revoked = append(n.Revoked, name)
			}
		}
		if len(n.Revoked) == asked {
			return nil
		}
		n.Revoked = slices.DeleteFunc(n.Revoked, func(name string) bool { return gone[name] })
		if data, err = json.Marshal(n); err != nil {
			panic(err) // Texts can always be marshalled.
		}
		if _, err = q.client.Set(q.path, data, stat.Version); !errors.Is(err, zk.ErrBadVersion) {
			return err
		}
	}
}
