package main

import (
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A message is what a client tells the referee. The client waits for the answer, so that the
// referee hears that a client is outside before the client releases the lock.
type message struct {
	Client  int    `json:"client"`
	Kind    string `json:"kind"`              // enter, leave or failed
	Session int64  `json:"session,omitempty"` // of enter
	Err     string `json:"err,omitempty"`     // of failed
}

// A visit is the presence of a client in the critical section.
type visit struct {
	excused bool // the process was paused, or its session was ended by force
}

// A score is what the referee has counted.
type score struct {
	acquired, overlaps, excused, failed, withoutNode int
	failures                                         map[string]int // by error
	afterKill                                        []time.Duration
}

// The referee counts how many clients are inside at a time. It knows nothing of locks but the
// directory in which their nodes are.
type referee struct {
	listener net.Listener
	nodes    nodeReader
	checks   sync.WaitGroup

	mu       sync.Mutex
	inside   map[int]*visit
	excuses  map[int]time.Time // until when a client's visits are excused
	killedAt time.Time         // a leader, and no client has entered since
	score    score
}

// A nodeReader reads the nodes of the lock. A *zk.Conn is one.
type nodeReader interface {
	Sync(path string) (string, error)
	Children(path string) ([]string, *zk.Stat, error)
	Exists(path string) (bool, *zk.Stat, error)
	Close()
}

// graceAfter is the time after the end of a pause or of a session in which a client may enter the
// critical section because of what it knew before.
const graceAfter = time.Second

// newReferee listens on a loopback port, and closes the reader when it is closed.
func newReferee(nodes nodeReader) (*referee, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &referee{
		listener: listener, nodes: nodes, inside: make(map[int]*visit),
		excuses: make(map[int]time.Time), score: score{failures: make(map[string]int)},
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go r.serve(client)
		}
	}()
	return r, nil
}

// serve answers a client. The end of the connection is the end of the process, which is outside
// then.
func (r *referee) serve(client net.Conn) {
	defer client.Close()
	decoder, number := json.NewDecoder(client), 0
	for {
		var m message
		if decoder.Decode(&m) != nil {
			r.leave(number)
			return
		}
		switch number = m.Client; m.Kind {
		case "enter":
			r.enter(m)
		case "leave":
			r.leave(m.Client)
		case "failed":
			r.fail(m.Err)
		}
		if _, err := fmt.Fprintln(client, "{}"); err != nil {
			r.leave(number)
			return
		}
	}
}

func (r *referee) enter(m message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := &visit{excused: time.Now().Before(r.excuses[m.Client])}
	for _, other := range r.inside {
		if v.excused || other.excused {
			r.score.excused++
		} else {
			r.score.overlaps++
		}
	}
	r.inside[m.Client] = v
	r.score.acquired++
	if !r.killedAt.IsZero() {
		r.score.afterKill = append(r.score.afterKill, time.Since(r.killedAt))
		r.killedAt = time.Time{}
	}
	r.checks.Go(func() { r.checkNode(m.Client, v, m.Session) })
}

func (r *referee) leave(client int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.inside, client)
}

func (r *referee) fail(err string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.score.failed++
	r.score.failures[err]++
}

// excuse excuses the client's overlaps from now on until a while after the end of a fault.
func (r *referee) excuse(client int, duration time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v := r.inside[client]; v != nil {
		v.excused = true
	}
	if until := time.Now().Add(duration + graceAfter); until.After(r.excuses[client]) {
		r.excuses[client] = until
	}
}

// leaderKilled begins to measure the time to the next grant.
func (r *referee) leaderKilled() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killedAt = time.Now()
}

// checkNode counts a client that is inside although its session has no node. If the referee cannot
// reach the servers, it counts nothing.
func (r *referee) checkNode(client int, v *visit, session int64) {
	has, err := r.hasNode(session)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil && !has && r.inside[client] == v && !v.excused {
		r.score.withoutNode++
	}
}

func (r *referee) hasNode(session int64) (bool, error) {
	if _, err := r.nodes.Sync(directory); err != nil {
		return false, err
	}
	children, _, err := r.nodes.Children(directory)
	if err != nil {
		return false, err
	}
	for _, child := range children {
		exists, stat, err := r.nodes.Exists(directory + "/" + child)
		if err != nil {
			return false, err
		}
		if exists && stat.EphemeralOwner == session {
			return true, nil
		}
	}
	return false, nil
}

// close ends the referee and returns the score.
func (r *referee) close() score {
	r.listener.Close()
	r.nodes.Close()
	r.checks.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.score
}

// silence discards the log of a client library.
type silence struct{}

func (silence) Printf(string, ...any) {}
