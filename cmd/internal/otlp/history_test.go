package otlp_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/history/production"
	"github.com/interlock-sim/interlock/lock"
)

// example is the file with spans that docs/production.md verifies.
const example = "testdata/billing.json"

var update = flag.Bool("update", false, "write the spans of TestMutex to "+example)

// Two processes share a mutex for a few turns. The history of their spans violates nothing, and
// tests what that of a recorder does.
func TestMutex(t *testing.T) {
	servers := startServer(t)
	processes := []*process{
		startProcess(t, "billing-1", servers), startProcess(t, "billing-2", servers),
	}
	var working sync.WaitGroup
	for _, p := range processes {
		working.Go(func() {
			m := p.mutex()
			for range 4 {
				lease := p.lock(m)
				if _, err := m.TryLock(t.Context()); !errors.Is(err, lock.ErrNotAcquired) {
					t.Errorf("TryLock of a held lock: %v", err)
				}
				p.unlock(lease)
			}
		})
	}
	working.Wait()
	spans := processes[0].json() + processes[1].json()
	if *update {
		if err := os.WriteFile(example, []byte(spans), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{spans, string(stored)} {
		log := merged(t, text, text) // An exporter may send spans twice.
		if all := violated(t, log); len(all) > 0 {
			t.Errorf("violated: %v", all)
		}
		if kinds := kindsOf(log, 1, 1); fmt.Sprint(kinds) != "[lock-call node-created lock-return "+
			"enter leave unlock-call unlock-return]" {
			t.Errorf("an attempt has the events %v", kinds)
		}
		var vacuity check.Vacuity
		vacuity.Add(log.Events(), history.Limits{Places: 1})
		if n := vacuity.Of(history.Linearizable); n != 8 {
			t.Errorf("%d grants, want 8", n)
		}
		if failed := failures(log); failed != 8 {
			t.Errorf("%d failed attempts, want 8", failed)
		}
	}
}

// kindsOf returns the kinds of the events of an attempt.
func kindsOf(log *history.Log, process, attempt int32) (kinds []history.Kind) {
	for _, e := range log.Events() {
		if number, _ := history.ProcessOf(e.Process); number == process && e.Attempt == attempt {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

func failures(log *history.Log) (n int) {
	for _, e := range log.Events() {
		if e.Kind == history.LockReturn && e.Err != "" {
			n++
		}
	}
	return n
}

// Readers, holders of a semaphore's places, a writer that becomes a reader, and participants of a
// barrier overlap rightly.
func TestSharing(t *testing.T) {
	servers := startServer(t)
	p, q := startProcess(t, "p", servers), startProcess(t, "q", servers)
	for _, locks := range [][2]func(*process) (*lock.Lease, error){
		{place, place},
		{reader, reader},
		{writerThatReads, reader},
	} {
		one, err := locks[0](p)
		if err != nil {
			t.Fatal(err)
		}
		other, err := locks[1](q)
		if err != nil {
			t.Fatal(err)
		}
		p.unlock(one)
		q.unlock(other)
	}
	gather(t, p, q)
	log := merged(t, p.json(), q.json())
	if all := violated(t, log); len(all) > 0 {
		t.Errorf("violated: %v", all)
	}
	if names, _ := production.Locks(log.Events()); !slices.Equal(names,
		[]string{"/locks/pool", "/locks/table", "/barrier"}) {
		t.Errorf("locks %v", names)
	}
}

// gather lets two processes be in three rounds of a barrier together.
func gather(t *testing.T, processes ...*process) {
	t.Helper()
	var all sync.WaitGroup
	for _, p := range processes {
		b, err := lock.NewDoubleBarrier(p.session, "/barrier", len(processes), p.observed)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for range 3 {
				round, err := b.Enter(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				if err := round.Leave(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func place(p *process) (*lock.Lease, error) {
	s, err := lock.NewSemaphore(p.session, "/locks/pool", 2, p.observed)
	if err != nil {
		return nil, err
	}
	return s.Lock(context.Background())
}

func reader(p *process) (*lock.Lease, error) {
	l, err := lock.NewRWMutex(p.session, "/locks/table", p.observed)
	if err != nil {
		return nil, err
	}
	return l.RLock(context.Background())
}

func writerThatReads(p *process) (*lock.Lease, error) {
	l, err := lock.NewRWMutex(p.session, "/locks/table", p.observed)
	if err != nil {
		return nil, err
	}
	lease, err := l.Lock(context.Background())
	if err != nil {
		return nil, err
	}
	return lease, lease.Downgrade(context.Background())
}

// Two processes that use different ensembles by mistake hold one lock at once.
func TestOverlap(t *testing.T) {
	p, q := startProcess(t, "p", startServer(t)), startProcess(t, "q", startServer(t))
	one := p.lock(p.mutex())
	q.unlock(q.lock(q.mutex()))
	p.unlock(one)
	want := []history.Property{
		history.ClientMutualExclusion, history.MonotonicToken, history.Linearizable,
	}
	if all := violated(t, merged(t, p.json()+q.json())); !slices.Equal(all, want) {
		t.Errorf("violated %v, want %v", all, want)
	}
}

// endings is closed when a lease has ended, and the observers before have noticed it.
type endings chan struct{}

func (c endings) Observe(e lock.Event) {
	if e.Kind == lock.Ended {
		close(c)
	}
}

// A lease that its session's end has ended was lost, and one that has not ended was never entered.
func TestLostAndUnended(t *testing.T) {
	servers := startServer(t)
	p, q := startProcess(t, "p", servers), startProcess(t, "q", servers)
	ended := make(endings)
	m, err := lock.NewMutex(p.session, "/locks/billing", p.observed, lock.WithObserver(ended))
	if err != nil {
		t.Fatal(err)
	}
	p.lock(m)
	p.session.Close()
	<-ended
	q.lock(q.mutex())
	log := merged(t, p.json(), q.json())
	if all := violated(t, log); len(all) > 0 {
		t.Errorf("violated: %v", all)
	}
	if kinds := kindsOf(log, 1, 1); kinds[len(kinds)-1] != history.Lost {
		t.Errorf("the lost lease has the events %v", kinds)
	}
	if kinds := kindsOf(log, 2, 1); kinds[len(kinds)-1] != history.LockReturn {
		t.Errorf("the lease that has not ended has the events %v", kinds)
	}
}
