package subjects

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

// cleanUpOnce ignores the failure of its clean-up.
func (r *recipeLock) cleanUpOnce(_ error) {
	r.node = ""
	r.tryDelete()
}

// cleanUpUnlessCanceled leaves the node of an attempt that the caller ended.
func (r *recipeLock) cleanUpUnlessCanceled(err error) {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		r.cleanUp(err)
	}
}

var errPredecessorGone = errors.New("the predecessor's node does not exist")

// waitForExisting fails when its predecessor no longer exists.
func (r *recipeLock) waitForExisting(ctx context.Context, ahead []string) (bool, error) {
	exists, _, events, err := r.client.ExistsW(r.directory + "/" + ahead[len(ahead)-1])
	if err != nil {
		return false, err
	}
	if !exists {
		return false, errPredecessorGone
	}
	select {
	case event := <-events:
		return true, event.Err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (r *recipeLock) cleanUpUnlessGone(err error) {
	if err != errPredecessorGone {
		r.cleanUp(err)
	}
}

// releaseWrongPath adds the directory to a path that already has it, after the first failure.
func (r *recipeLock) releaseWrongPath() error {
	path := r.node
	for {
		switch err := r.client.Delete(path, -1); {
		case err == nil:
			return nil
		case err == zk.ErrNoNode && path == r.node:
			return errLost
		case err == zk.ErrNoNode:
			return nil // the defect: the node that it looks for never existed
		}
		path = r.directory + r.node
		time.Sleep(retryDelay)
	}
}

// waitThenRecreate leaves a watcher behind that joins the queue when the watch fires.
func (r *recipeLock) waitThenRecreate(ctx context.Context, ahead []string) (bool, error) {
	exists, _, events, err := r.client.ExistsW(r.directory + "/" + ahead[len(ahead)-1])
	if err != nil || !exists {
		return false, err
	}
	select {
	case event := <-events:
		return true, event.Err
	case <-ctx.Done():
		go func() {
			if event := <-events; event.Err == nil {
				r.client.CreateProtectedEphemeralSequential(r.directory+"/n-", nil, openACL)
			}
		}()
		return false, ctx.Err()
	}
}

// releaseWithDirectory deletes the directory too, if it is empty.
func (r *recipeLock) releaseWithDirectory() error {
	err := r.release()
	r.client.Delete(r.directory, -1)
	return err
}

// releaseFirst deletes the first node of the queue, which may be that of another contender.
func (r *recipeLock) releaseFirst() error {
	for {
		names, _, err := r.client.Children(r.directory)
		if err == nil && len(names) == 0 {
			return errLost
		}
		if err == nil {
			sortByDigits(names)
			err = r.client.Delete(r.directory+"/"+names[0], -1)
		}
		if err == nil {
			return nil
		}
		time.Sleep(retryDelay)
	}
}

// releaseAll deletes every node of the queue.
func (r *recipeLock) releaseAll() error {
	for {
		names, _, err := r.client.Children(r.directory)
		for _, name := range names {
			if e := r.client.Delete(r.directory+"/"+name, -1); e != nil && e != zk.ErrNoNode {
				err = e
			}
		}
		if err == nil {
			return nil
		}
		time.Sleep(retryDelay)
	}
}
