package lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
)

// A revocation is the content of a lock's directory, encoded as JSON: the contenders that are asked
// to unlock. It is not stored in their nodes, because the contender behind one would take the
// change for a release: see releaseNode.
type revocation struct {
	Revoked []string `json:"revoked"` // names of contenders' nodes
}

// readRevocation parses the data of a directory. It returns an error for foreign data.
func readRevocation(data []byte) (revocation, error) {
	var r revocation
	if len(data) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return revocation{}, fmt.Errorf("not the revocations of a lock: %w", err)
	}
	return r, nil
}

// postRevocation adds the names to the directory's revocations, and removes those of contenders
// that are gone.
func (q *queue) postRevocation(names []string, gone map[string]bool) error {
	for {
		data, stat, err := q.client.Get(q.path)
		if err != nil {
			return err
		}
		r, err := readRevocation(data)
		if err != nil {
			return fmt.Errorf("lock: the data of %s cannot hold a revocation: %w", q.path, err)
		}
		before := len(r.Revoked)
		for _, name := range names {
			if !slices.Contains(r.Revoked, name) {
				r.Revoked = append(r.Revoked, name)
			}
		}
		if len(r.Revoked) == before {
			return nil
		}
		r.Revoked = slices.DeleteFunc(r.Revoked, func(name string) bool { return gone[name] })
		if data, err = json.Marshal(r); err != nil {
			panic(err) // Strings can always be marshalled.
		}
		if _, err = q.client.Set(q.path, data, stat.Version); !errors.Is(err, zk.ErrBadVersion) {
			return err
		}
	}
}
