package lock_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

// A slowTrip is a client whose every request takes a round trip of this length.
type slowTrip struct {
	*model.Conn
	trip time.Duration
}

func (s slowTrip) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	defer time.Sleep(s.trip)
	return s.Conn.Create(path, data, flags, acl)
}

func (s slowTrip) Exists(path string) (bool, *zk.Stat, error) {
	defer time.Sleep(s.trip)
	return s.Conn.Exists(path)
}

func (s slowTrip) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	defer time.Sleep(s.trip)
	return s.Conn.GetW(path)
}

func (s slowTrip) Children(path string) ([]string, *zk.Stat, error) {
	defer time.Sleep(s.trip)
	return s.Conn.Children(path)
}

func (s slowTrip) Sync(path string) (string, error) {
	defer time.Sleep(s.trip)
	return s.Conn.Sync(path)
}

func (s slowTrip) Multi(operations ...any) ([]zk.MultiResponse, error) {
	defer time.Sleep(s.trip)
	return s.Conn.Multi(operations...)
}

// passFinely lets time pass in steps that are shorter than a round trip.
func (w *world) passFinely(duration time.Duration) {
	for until := time.Now().Add(duration); time.Now().Before(until); {
		w.flow()
		w.advance(2 * time.Millisecond)
	}
	w.flow()
}

// A Session stays connected while a round trip takes at most 1/24 of the session timeout.
func TestSlowSession(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		conn := slowTrip{w.client(1), sessionTimeout / 24}
		l := w.listen(lock.NewSession(conn, conn.Events(), sessionTimeout))
		w.passFinely(5 * sessionTimeout)
		l.want(t, lock.SessionSuspended, lock.SessionConnected)
	})
}

// A lock is granted and held, whenever another contender releases it, while a round trip takes at
// most 1/50 of the session timeout.
func TestSlowLink(t *testing.T) {
	for _, onSession := range []bool{false, true} {
		for percent := range 10 {
			inWorld(t, 2, func(w *world) {
				conn := slowTrip{w.client(1), sessionTimeout / 50}
				var client lock.Client = conn
				if onSession {
					client = lock.NewSession(conn, conn.Events(), sessionTimeout)
				}
				holder := w.acquire(w.mutex(2))
				c := w.start(background, must(lock.NewMutex(client, "/lock", sessionTimeout)))
				w.passFinely(sessionTimeout * time.Duration(2*percent) / 100)
				w.unlock(holder)
				w.passFinely(2 * sessionTimeout)
				w.wantGranted(c)
				if err := c.lease.Err(); err != nil {
					t.Errorf("released after %d %%, session %v: %v", 2*percent, onSession, err)
				}
			})
		}
	}
}

// If two round trips take longer than a lease lasts, the lock is not granted. An observer learns why,
// and ZooKeeper is not flooded.
func TestTooSlowLink(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		seen := new(witness)
		m := must(lock.NewMutex(slowTrip{w.client(1), sessionTimeout / 5}, "/lock", sessionTimeout,
			lock.WithObserver(seen)))
		c := w.start(background, m)
		w.passFinely(5 * sessionTimeout)
		if c.returned() {
			t.Fatalf("the lock was granted, error %v", c.err)
		}
		retried := 0
		for _, e := range seen.events {
			if e.Kind != lock.Retried {
				continue
			}
			if retried++; !strings.Contains(e.Err.Error(), "takes too long to answer") {
				t.Error(e.Err)
			}
		}
		if retried == 0 {
			t.Error("the observer has not heard of a retry")
		}
		if sent := w.requests(1, ""); sent > 30 {
			t.Errorf("%d requests in five session timeouts", sent)
		}
	})
}
