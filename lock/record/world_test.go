package record_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/models"
	"github.com/interlock-sim/interlock/history/production"
	"github.com/interlock-sim/interlock/lock"
	"github.com/interlock-sim/interlock/lock/record"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client"
	"github.com/interlock-sim/interlock/simzk/client/model"
)

const sessionTimeout = 4 * time.Second

// An ensemble delivers all messages at once, in virtual time.
type ensemble struct {
	cluster *simzk.Cluster
	clients []*model.Conn
	stop    chan struct{}
}

func newEnsemble() *ensemble {
	e := &ensemble{
		cluster: simzk.New(simzk.Config{SessionTimeout: sessionTimeout, Settle: synctest.Wait},
			new(history.Log)), stop: make(chan struct{}),
	}
	return e
}

// connect returns the session of a new client.
func (e *ensemble) connect() *lock.Session {
	conn := model.Connect(e.cluster)
	e.clients = append(e.clients, conn)
	return lock.NewSession(client.Connecting(conn), conn.Events(), sessionTimeout)
}

// deliver delivers all messages.
func (e *ensemble) deliver() {
	for moved := true; moved; {
		synctest.Wait()
		e.cluster.Collect()
		moved = false
		for _, link := range e.cluster.Links() {
			if _, ok := link.Servable(); ok {
				e.cluster.Serve(link)
				moved = true
			}
			if _, ok := link.Deliverable(); ok {
				e.cluster.Deliver(link)
				moved = true
			}
			synctest.Wait()
		}
	}
}

// A service is processes that record what they do with locks of ensembles.
type service struct {
	*testing.T
	ensembles []*ensemble
	recorders []*record.Recorder
	histories []*bytes.Buffer
}

// inService runs a test in virtual time, with processes on one ensemble, and returns their merged
// history.
func inService(t *testing.T, processes int, test func(*service)) *history.Log {
	var merged *history.Log
	synctest.Test(t, func(t *testing.T) {
		s := &service{T: t, ensembles: []*ensemble{newEnsemble()}}
		for range processes {
			history := new(bytes.Buffer)
			s.histories = append(s.histories, history)
			s.recorders = append(s.recorders, record.New(history, "billing"))
		}
		test(s)
		for _, r := range s.recorders {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		for _, e := range s.ensembles {
			for _, c := range e.clients {
				c.TearDown()
			}
		}
		time.Sleep(time.Minute)
		merged = s.merge()
	})
	return merged
}

// merge reads the histories as interlock verify does.
func (s *service) merge() *history.Log {
	var logs []*history.Log
	for _, recorded := range s.histories {
		log, err := history.Read(recorded)
		if err != nil {
			s.Fatal(err)
		}
		logs = append(logs, log)
	}
	numbered, _, err := production.NumberProcesses(logs...)
	if err != nil {
		s.Fatal(err)
	}
	return production.Merge(numbered...)
}

// pass lets time pass, in which messages are delivered every ten milliseconds.
func (s *service) pass(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		for _, e := range s.ensembles {
			e.deliver()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// mutex returns a handle of a process on the mutex of an ensemble.
func (s *service) mutex(process, ensemble int, options ...lock.Option) *lock.Mutex {
	options = append([]lock.Option{lock.WithObserver(s.recorders[process])}, options...)
	m, err := lock.NewMutex(s.ensembles[ensemble].connect(), "/locks/billing", options...)
	if err != nil {
		s.Fatal(err)
	}
	return m
}

// work holds a lock for a second.
func work(context.Context) error {
	time.Sleep(time.Second)
	return nil
}

// violations returns the properties that the history violates, within exact clocks.
func violations(t *testing.T, log *history.Log) map[history.Property][]*history.Violation {
	t.Helper()
	found := make(map[history.Property][]*history.Violation)
	for _, p := range production.WithinClocks {
		all, decided := production.AllWithin(p, log.Events(), production.Clocks{}, models.Limits{})
		if !decided {
			t.Errorf("%s: undecided", p)
		}
		if len(all) > 0 {
			found[p] = all
		}
	}
	return found
}
