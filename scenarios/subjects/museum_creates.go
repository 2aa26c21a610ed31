package subjects

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// createNamed creates a contender's node with a GUID of the recipe's own. It returns the GUID too.
func (r *recipeLock) createNamed(prefix string) (node, guid string, err error) {
	r.attempts++
	guid = fmt.Sprintf("g%x.%d-", r.client.SessionID(), r.attempts)
	node, err = r.client.Create(r.directory+"/"+guid+prefix+"n-", nil,
		zk.FlagEphemeral|zk.FlagSequence, openACL)
	return node, guid, err
}

// find returns the name of the node with the GUID, or errNodeGone.
func (r *recipeLock) find(guid string) (string, error) {
	names, _, err := r.client.Children(r.directory)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if strings.HasPrefix(name, guid) {
			return name, nil
		}
	}
	return "", errNodeGone
}

// createSearchOnce fails when its search fails, and does not know its node then.
func (r *recipeLock) createSearchOnce(_ context.Context) error {
	node, guid, err := r.createNamed("")
	if err == zk.ErrConnectionClosed {
		if node, err = r.find(guid); err == nil {
			node = r.directory + "/" + node
		}
	}
	r.node = node
	return err
}

// deleteKnownNode deletes the node if the contender knows its path.
func (r *recipeLock) deleteKnownNode(_ error) {
	if r.node != "" {
		r.deleteNode()
	}
}

var errAbandoned = errors.New("canceled during the create")

// createAbandoned returns when the caller cancels, while the create is still in flight.
func (r *recipeLock) createAbandoned(ctx context.Context) error {
	type result struct {
		node string
		err  error
	}
	created := make(chan result, 1)
	go func() {
		node, err := r.client.CreateProtectedEphemeralSequential(r.directory+"/n-", nil, openACL)
		created <- result{node, err}
	}()
	select {
	case result := <-created:
		r.node = result.node
		return result.err
	case <-ctx.Done():
		return errAbandoned
	}
}

func (r *recipeLock) keepAbandoned(err error) {
	if err != errAbandoned {
		r.cleanUp(err)
	}
}

// createStacked adds a prefix to the name at each repetition, and searches for the new name only.
func (r *recipeLock) createStacked(_ context.Context) (err error) {
	prefix := ""
	for range 3 {
		var guid string
		r.node, guid, err = r.createNamed(prefix)
		if err != zk.ErrConnectionClosed {
			return err
		}
		prefix = guid + prefix
	}
	return err
}

// createRelative stores the name of a node that it has to search for, and the path of any other.
func (r *recipeLock) createRelative(_ context.Context) error {
	node, guid, err := r.createNamed("")
	if err == zk.ErrConnectionClosed {
		node, err = r.find(guid)
	}
	r.node = node
	return err
}

// predecessorsOfRelative compares paths, so that a node without its directory is no path's equal.
func (r *recipeLock) predecessorsOfRelative() ([]string, error) {
	names, _, err := r.client.Children(r.directory)
	if err != nil {
		return nil, err
	}
	ahead := names[:0]
	for _, name := range names {
		if r.directory+"/"+name != r.node && sequenceDigits(name) <= sequenceDigits(r.node) {
			ahead = append(ahead, name)
		}
	}
	sortByDigits(ahead)
	return ahead, nil
}

// predecessorsUnchecked does not look for other nodes of the contender.
func (r *recipeLock) predecessorsUnchecked() ([]string, error) {
	names, _, err := r.client.Children(r.directory)
	if err != nil {
		return nil, err
	}
	return r.predecessorsAmong(names)
}

// createProbe creates a node only to see whether the connection works.
func (r *recipeLock) createProbe(ctx context.Context) error {
	if _, err := r.client.Create(r.directory+"/probe-", nil, zk.FlagEphemeral|zk.FlagSequence,
		openACL); err != nil {
		return err
	}
	return r.create(ctx)
}

// createPersistent creates a node that is not ephemeral.
func (r *recipeLock) createPersistent(_ context.Context) (err error) {
	r.node, err = r.client.Create(r.directory+"/n-", nil, zk.FlagSequence, openACL)
	return err
}
