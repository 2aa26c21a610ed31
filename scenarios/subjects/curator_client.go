package subjects

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/simzk/client"
)

// A curatorClient is what Apache Curator 5.4 adds to a ZooKeeper client, as far as its locks use
// it: calls that wait for a connection and are retried, protected creates, guaranteed deletes, and
// watchers that also learn of each change of the connection. Curator 5.2.1 behaves alike.
//
// Source: curator-client (RetryLoop, ThreadLocalRetryLoop, CuratorZookeeperClient,
// ExponentialBackoffRetry) and curator-framework (CreateBuilderImpl, ProtectedMode,
// DeleteBuilderImpl, FailedDeleteManager, FindAndDeleteProtectedNodeInBackground) of
// https://github.com/apache/curator, tag apache-curator-5.4.0.
//
// What takes the place of Java's threads and client:
//   - The end of a context stands for the interruption of a thread. A call to ZooKeeper cannot be
//     interrupted while it waits for its reply; the next one is.
//   - go-zookeeper/zk, or its model, stands for the client of ZooKeeper. Where that reports a
//     connection loss, this one reports zk.ErrConnectionClosed, or zk.ErrNoServer for a request
//     that it has not sent. It opens a new session where Curator replaces the client.
//   - Goroutines stand for Curator's background thread, one for each operation. They start a little
//     later, each later than the one before, so that no two send a request at the same instant.
//   - Watchers are not removed.
type curatorClient struct {
	zookeeper client.Client
	random    *rand.Rand
	ctx       context.Context // of the process

	mu         sync.Mutex
	changed    chan struct{} // closed at the next change of the connection
	background int           // operations begun in the background
}

// The retry policy of document 002, ExponentialBackoffRetry(1000, 3), and Curator's default for
// the time that a call waits for a connection.
const (
	curatorBaseSleep         = time.Second
	curatorMaxRetries        = 3
	curatorConnectionTimeout = 15 * time.Second
)

// javaLatency is the time that a thread takes to wake up. So it never does at an instant at which
// the client library acts.
const javaLatency = time.Millisecond

var (
	errInterrupted = errors.New("InterruptedException")
	errNullPointer = errors.New("NullPointerException")
)

func newCuratorClient(p *scenarios.Process) *curatorClient {
	c := &curatorClient{
		zookeeper: p.Client, random: randomOf(p), ctx: p.Context(), changed: make(chan struct{}),
	}
	go c.watchConnection(p.Client.Events())
	return c
}

// randomOf returns the random numbers of a process: the same in every run.
func randomOf(p *scenarios.Process) *rand.Rand {
	var seed [16]byte
	p.Random.Read(seed[:]) // It never fails.
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:8]),
		binary.LittleEndian.Uint64(seed[8:])))
}

// watchConnection wakes all that wait for a change of the connection, until the client closes.
func (c *curatorClient) watchConnection(events <-chan zk.Event) {
	for event := range events {
		if event.Type != zk.EventSession {
			continue
		}
		switch event.State {
		case zk.StateDisconnected, zk.StateHasSession, zk.StateExpired:
			time.Sleep(javaLatency / 2)
			c.mu.Lock()
			close(c.changed)
			c.changed = make(chan struct{})
			c.mu.Unlock()
		}
	}
}

// connectionChange returns a channel that is closed at the next change of the connection.
func (c *curatorClient) connectionChange() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

func (c *curatorClient) connected() bool { return c.zookeeper.State() == zk.StateHasSession }

// A retryLoop is Curator's RetryLoop. Calls that a thread nests share one loop (CURATOR-559). The
// success of an inner call ends the loop, so the outer call is not repeated after that, even if it
// fails: it then returns no error, and no result.
type retryLoop struct {
	retries int
	done    bool
	failed  error
}

// callWithRetry calls a function until it succeeds, fails for good, or has used up its retries.
func (c *curatorClient) callWithRetry(ctx context.Context, loop *retryLoop,
	call func() error,
) error {
	if err := c.awaitConnection(ctx); err != nil {
		return err
	}
	for !loop.done && loop.failed == nil {
		err := ctxError(ctx)
		if err == nil {
			err = call()
		}
		if err == nil {
			loop.done = true
		} else if err := c.handle(ctx, loop, err); err != nil {
			return err
		}
	}
	return nil
}

// handle returns the error unless the caller repeats the call.
func (c *curatorClient) handle(ctx context.Context, loop *retryLoop, err error) error {
	if loop.failed != nil {
		return loop.failed
	}
	if retryable(err) && c.allowRetry(ctx, loop.retries) {
		loop.retries++
		return nil
	}
	loop.failed = err
	return err
}

// allowRetry sleeps before a retry, or returns false if there were too many.
func (c *curatorClient) allowRetry(ctx context.Context, retries int) bool {
	return retries < curatorMaxRetries &&
		c.sleep(ctx, curatorBaseSleep*time.Duration(max(1, c.random.IntN(1<<(retries+1))))) == nil
}

// retryable reports whether Curator repeats a call that has failed with the error.
func retryable(err error) bool {
	return err == zk.ErrConnectionClosed || err == zk.ErrNoServer || err == zk.ErrSessionExpired ||
		err == zk.ErrSessionMoved
}

// awaitConnection waits until the client is connected, or the connection timeout is over.
func (c *curatorClient) awaitConnection(ctx context.Context) error {
	deadline := time.Now().Add(curatorConnectionTimeout)
	for !c.connected() && time.Until(deadline) > 0 {
		select {
		case <-c.connectionChange():
		case <-time.After(min(time.Until(deadline), time.Second) + javaLatency):
		case <-ctx.Done():
		}
		if err := ctxError(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *curatorClient) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d + javaLatency):
	case <-ctx.Done():
	}
	return ctxError(ctx)
}

// ctxError returns errInterrupted if the context has ended. It is asked after each wait, because
// which case a select has chosen must not matter.
func ctxError(ctx context.Context) error {
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

// children is getChildren().forPath.
func (c *curatorClient) children(ctx context.Context, path string) (names []string, err error) {
	err = c.callWithRetry(ctx, new(retryLoop), func() (err error) {
		names, _, err = c.zookeeper.Children(path)
		return err
	})
	return names, err
}

// childrenWatched is getChildren().usingWatcher.
func (c *curatorClient) childrenWatched(ctx context.Context, path string) (names []string,
	events <-chan zk.Event, err error,
) {
	err = c.callWithRetry(ctx, new(retryLoop), func() (err error) {
		names, _, events, err = c.zookeeper.ChildrenW(path)
		return err
	})
	return names, events, err
}

// dataWatched is getData().usingWatcher. It fails with zk.ErrNoNode, and then sets no watch, if
// there is no such node.
func (c *curatorClient) dataWatched(ctx context.Context, path string) (events <-chan zk.Event,
	err error,
) {
	err = c.callWithRetry(ctx, new(retryLoop), func() (err error) {
		_, _, events, err = c.zookeeper.GetW(path)
		return err
	})
	return events, err
}

// exists is checkExists().forPath.
func (c *curatorClient) exists(ctx context.Context, path string) (exists bool, err error) {
	err = c.callWithRetry(ctx, new(retryLoop), func() (err error) {
		exists, _, err = c.zookeeper.Exists(path)
		return err
	})
	return exists, err
}

// create is create().withMode(mode).forPath. A retry after a lost reply creates a second node.
func (c *curatorClient) create(ctx context.Context, path string, mode int32) (created string,
	err error,
) {
	err = c.callWithRetry(ctx, new(retryLoop), func() (err error) {
		created, err = c.zookeeper.Create(path, nil, mode, openACL)
		return err
	})
	return created, err
}

// delete is delete().forPath.
func (c *curatorClient) delete(ctx context.Context, path string) error {
	return c.callWithRetry(ctx, new(retryLoop), func() error {
		return c.zookeeper.Delete(path, -1)
	})
}

// deleteGuaranteed is delete().guaranteed().forPath: if it fails because of the connection, it is
// repeated in the background until it succeeds.
func (c *curatorClient) deleteGuaranteed(ctx context.Context, path string) error {
	err := c.delete(ctx, path)
	if retryable(err) || err == errInterrupted {
		c.inBackground(func() error { return c.zookeeper.Delete(path, -1) })
	}
	return err
}

// inBackground repeats an operation until it succeeds, or fails for another reason than the
// connection, or the process ends.
func (c *curatorClient) inBackground(operation func() error) {
	c.mu.Lock()
	c.background++
	latency := time.Duration(c.background) * javaLatency
	c.mu.Unlock()
	go func() {
		err := c.sleep(c.ctx, latency)
		for err == nil && retryable(operation()) {
			err = c.sleep(c.ctx, curatorBaseSleep+latency)
		}
	}()
}

// A protectedCreate is create().withProtection(): the name of the node contains a GUID, by which a
// retry finds the node that an earlier attempt has created.
type protectedCreate struct {
	*curatorClient
	directory string
	guid      string
	session   int64 // in which the create began
}

// createProtected is create().creatingParentContainersIfNeeded().withProtection().withMode(mode)
// .forPath, for a path whose parent's parent exists. It returns "" and no error if the search for
// the node succeeds and the create after it fails; see [retryLoop].
func (c *curatorClient) createProtected(ctx context.Context, path string, mode int32,
) (created string, err error) {
	slash := strings.LastIndexByte(path, '/')
	p := &protectedCreate{
		curatorClient: c, directory: path[:slash],
		guid: "_c_" + guidOf(c.random.Uint64(), c.random.Uint64()) + "-",
	}
	path = p.directory + "/" + p.guid + path[slash+1:]
	loop := new(retryLoop)
	first := true
	err = c.callWithRetry(ctx, loop, func() (err error) {
		if p.session == 0 {
			p.session = c.zookeeper.SessionID()
		}
		found := ""
		if !first {
			if found, err = p.find(ctx, loop); err != nil {
				return err
			}
		}
		first = false
		if found == "" {
			found, err = p.create(path, mode)
		}
		if err == nil {
			created = found
		}
		return err
	})
	if err == zk.ErrConnectionClosed || err == zk.ErrNoServer || err == errInterrupted {
		c.inBackground(p.findAndDelete)
	}
	return created, err
}

// create creates the node, and its parent as a container if that is missing.
func (p *protectedCreate) create(path string, mode int32) (created string, err error) {
	created, err = p.zookeeper.Create(path, nil, mode, openACL)
	if err != zk.ErrNoNode {
		return created, err
	}
	_, err = p.zookeeper.CreateContainer(p.directory, nil, zk.FlagContainer, openACL)
	if err != nil && err != zk.ErrNodeExists {
		return "", err
	}
	return p.zookeeper.Create(path, nil, mode, openACL)
}

// guidOf formats 128 bits as Java's UUID does.
func guidOf(high, low uint64) string {
	const digits = "0123456789abcdef"
	var guid [36]byte
	for i := range guid {
		switch i {
		case 8, 13, 18, 23:
			guid[i] = '-'
			continue
		}
		guid[i] = digits[high>>60]
		high, low = high<<4|low>>60, low<<4
	}
	return string(guid[:])
}

// find returns the node that an earlier attempt has created in this session, or "". It asks the
// server that the client is connected to, which may not have applied the create yet.
func (p *protectedCreate) find(ctx context.Context, loop *retryLoop) (found string, err error) {
	err = p.callWithRetry(ctx, loop, func() (err error) {
		names, _, err := p.zookeeper.Children(p.directory)
		if err == zk.ErrNoNode {
			return nil
		}
		if err != nil {
			return err
		}
		found = p.among(names)
		if session := p.zookeeper.SessionID(); session != p.session {
			if old := found; old != "" {
				p.inBackground(func() error { return p.zookeeper.Delete(old, -1) })
			}
			p.session, found = session, ""
		}
		return nil
	})
	return found, err
}

// findAndDelete deletes the node of a create whose outcome is unknown.
func (p *protectedCreate) findAndDelete() error {
	names, _, err := p.zookeeper.Children(p.directory)
	if err != nil {
		return err
	}
	if found := p.among(names); found != "" {
		p.inBackground(func() error { return p.zookeeper.Delete(found, -1) })
	}
	return nil
}

func (p *protectedCreate) among(names []string) string {
	for _, name := range names {
		if strings.HasPrefix(name, p.guid) {
			return p.directory + "/" + name
		}
	}
	return ""
}
