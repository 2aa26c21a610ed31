package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/lock/record"
)

const (
	directory      = "/chaos"
	sessionTimeout = 6 * time.Second
	insideMax      = 30 * time.Millisecond
	thinkMax       = 20 * time.Millisecond
)

// A client is a process that acquires the lock again and again.
type client struct {
	number  int
	servers []string
	history string // file
	referee net.Conn
	answers *bufio.Reader
	random  *rand.Rand
}

func newClient(number int, referee net.Conn) *client {
	return &client{
		number: number, referee: referee, answers: bufio.NewReader(referee),
		random: rand.New(rand.NewPCG(uint64(number), 1)),
	}
}

// runClient runs a client process until its standard input ends.
func runClient(number int, kind string, servers []string, referee, history string) error {
	conn, err := net.Dial("tcp", referee)
	if err != nil {
		return err
	}
	defer conn.Close()
	c := newClient(number, conn)
	c.servers, c.history = servers, history
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if kind == zkLock {
		return c.contendZKLock(ctx)
	}
	return c.contend(ctx)
}

// tell sends a message to the referee and waits for its answer.
func (c *client) tell(m message) error {
	m.Client = c.number
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if _, err := c.referee.Write(append(line, '\n')); err != nil {
		return err
	}
	_, err = c.answers.ReadString('\n')
	return err
}

// work is the critical section. It ends early if the context ends.
func (c *client) work(ctx context.Context, session int64) error {
	if err := c.tell(message{Kind: "enter", Session: session}); err != nil {
		return err
	}
	c.sleep(ctx, insideMax)
	return c.tell(message{Kind: "leave"})
}

func (c *client) sleep(ctx context.Context, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(c.random.Int64N(int64(most)))):
	}
}

// contend uses a mutex of package lock, and records its history.
func (c *client) contend(ctx context.Context) error {
	file, err := os.Create(c.history)
	if err != nil {
		return err
	}
	recorder := record.New(file, fmt.Sprintf("c%d", c.number))
	defer recorder.Close()
	session, err := lock.Dial(ctx, c.servers, sessionTimeout,
		lock.WithClientOption(zk.WithLogger(silence{})))
	if err != nil {
		return err
	}
	defer session.Close()
	mutex, err := lock.NewMutex(session, directory, lock.WithObserver(recorder))
	if err != nil {
		return err
	}
	conn, ok := session.Client.(*zk.Conn)
	if !ok {
		return fmt.Errorf("the session has a %T", session.Client)
	}
	for ctx.Err() == nil {
		err := recorder.Do(ctx, mutex, func(ctx context.Context) error {
			return c.work(ctx, conn.SessionID())
		})
		if err != nil && ctx.Err() == nil && !errors.Is(err, lock.ErrLost) {
			err = c.tell(message{Kind: "failed", Err: err.Error()})
			if err != nil {
				return err
			}
		}
		c.sleep(ctx, thinkMax)
	}
	return nil
}

// contendZKLock uses zk.Lock of go-zookeeper/zk. The process ends without a clean-up, because Lock
// takes no context.
func (c *client) contendZKLock(ctx context.Context) error {
	conn, _, err := zk.Connect(c.servers, sessionTimeout, zk.WithLogger(silence{}))
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { os.Exit(0) })
	for {
		l := zk.NewLock(conn, directory, zk.WorldACL(zk.PermAll))
		err := l.Lock()
		if err == nil {
			if err := c.work(ctx, conn.SessionID()); err != nil {
				return err
			}
			// ErrNoNode is how a holder learns of its loss.
			if err = l.Unlock(); errors.Is(err, zk.ErrNoNode) {
				err = nil
			}
		}
		if err != nil {
			if err := c.tell(message{Kind: "failed", Err: err.Error()}); err != nil {
				return err
			}
		}
		c.sleep(ctx, thinkMax)
	}
}
