package engine_test

import (
	"context"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// Facts change neither the trace hash nor the state keys. Every request of the code under test has
// its source line, and every listing its children.
func TestFacts(t *testing.T) {
	const recipe = "scenarios/subjects/recipe.go:"
	for _, tc := range []struct {
		name    string
		subject scenarios.Subject
		client  scenarios.ClientKind
		file    string // of the lines that send requests
	}{
		{"model", subjects.Textbook(), scenarios.Model, recipe},
		{"real", subjects.Textbook(), scenarios.Real, recipe},
		{"zk.Lock", subjects.ZKLock(), scenarios.Real, "github.com/go-zookeeper/zk@"},
		{"zk.Conn", direct(), scenarios.Real, "internal/run/engine/facts_test.go:"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.client == scenarios.Real && real.RaceDetector {
				t.Skip("the real client is not deterministic under the race detector")
			}
			scenario := &scenarios.Scenario{
				Subject: tc.subject, Clients: 3, Cycles: 1,
				Client: tc.client,
				Faults: faults.Default(),
			}
			runner := engine.NewRunner(t)
			for schedule := range 10 {
				plain := runner.Run(scenario, strategy.NewRandom(1, schedule))
				hash, keys := plain.TraceHash, append([]uint64(nil), plain.Keys...)
				for i := range plain.Events {
					if plain.Events[i].Facts != nil {
						t.Fatalf("event %d has facts, which nobody wants", i)
					}
				}
				runner.GatherFacts(true)
				result := runner.Run(scenario, strategy.NewRandom(1, schedule))
				runner.GatherFacts(false)
				if result.TraceHash != hash {
					t.Errorf("schedule %d: facts change the trace hash", schedule)
				}
				for i, key := range result.Keys {
					if i >= len(keys) || key != keys[i] {
						t.Fatalf("schedule %d: facts change state key %d", schedule, i)
					}
				}
				checkFacts(t, tc.file, result.Events)
			}
		})
	}
}

// direct returns a lock that calls the real client itself, also from a goroutine of its own, and
// excludes nobody.
func direct() scenarios.Subject {
	return scenarios.Subject{
		Name: "direct", Real: true,
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			return &directLock{p.Conn(), fmt.Sprintf("%s/%d", p.Directory, p.Number)}, nil
		},
	}
}

type directLock struct {
	conn *zk.Conn
	node string
}

func (l *directLock) Lock(context.Context) (*scenarios.Hold, error) {
	read := make(chan struct{})
	go l.read(read)
	_, err := l.create()
	<-read
	if err != nil {
		return nil, err
	}
	return &scenarios.Hold{Unlock: l.delete}, nil
}

func (l *directLock) create() (string, error) {
	return l.conn.Create(l.node, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
}

func (l *directLock) read(done chan<- struct{}) {
	defer close(done)
	l.conn.GetW(path.Dir(l.node)) // The test wants only the request.
}

func (l *directLock) delete(context.Context) error {
	_, err := l.conn.Multi(&zk.DeleteRequest{Path: l.node, Version: -1})
	return err
}

// directFunctions are the functions of a directLock by the requests that they send.
var directFunctions = map[string]string{
	"create": "create", "get+watch": "read", "multi": "delete",
}

func checkFacts(t *testing.T, file string, events []history.Event) {
	t.Helper()
	for i := range events {
		switch e := &events[i]; {
		case e.Op == "connect" || e.Op == "set-watches":
		case e.Kind == history.Send:
			if e.Facts == nil || !strings.HasPrefix(e.Facts.Line, file) {
				t.Errorf("event %d, %s, has no line of the lock: %+v", i, e.Op, e.Facts)
				continue
			}
			_, method, ok := strings.Cut(e.Facts.Function, "(*directLock).")
			if ok && method != directFunctions[e.Op] {
				t.Errorf("event %d, %s, is sent by %s", i, e.Op, method)
			}
		case e.Kind == history.Reply && e.Op == "children" && e.Err == "":
			if e.Facts == nil || e.Facts.Children == nil {
				t.Errorf("event %d, a listing, has no children", i)
				continue
			}
			for _, child := range e.Facts.Children {
				if child.Process == 0 {
					t.Errorf("event %d: nobody has created %s", i, child.Name)
				}
			}
		case e.Kind == history.Reply && strings.HasPrefix(e.Op, "exists") &&
			(e.Err == "" || e.Err == "no node"):
			if e.Facts == nil || e.Facts.Exists == nil || *e.Facts.Exists != (e.Err == "") {
				t.Errorf("event %d does not tell whether the node exists: %+v", i, e.Facts)
			}
		}
	}
}
