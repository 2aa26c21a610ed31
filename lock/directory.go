package lock

import (
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"
)

// createParents creates the directory of the lock. It returns errRestart on success, because the
// node itself is yet to be created.
func (q *queue) createParents(directory string) error {
	if directory == "" {
		return zk.ErrNoNode // The root: a client that adds a prefix lacks the node of the prefix.
	}
	err := q.createDirectory(directory)
	if errors.Is(err, zk.ErrNoNode) {
		parent := directory[:strings.LastIndexByte(directory, '/')]
		if err := q.createParents(parent); err != errRestart {
			return err
		}
		err = q.createDirectory(directory)
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return err
	}
	return errRestart
}

func (q *queue) createDirectory(directory string) error {
	if q.containers {
		_, err := q.client.CreateContainer(directory, nil, zk.FlagContainer, q.acl)
		return err
	}
	_, err := q.client.Create(directory, nil, 0, q.acl)
	return err
}
