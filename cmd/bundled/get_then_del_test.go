package bundled_test

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/bundled/goredis"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim/simredis"
)

// getThenDel is a lock on Redis that compares its value by GET before it deletes the key by DEL.
func getThenDel() scenarios.Subject {
	return scenarios.Subject{
		Name: "get-then-del", Summary: "x", Service: simredis.Service{}, Servers: 1,
		Claims:   []history.Property{history.OwnRelease},
		Severity: faults.Severity{Pause: faults.PauseMax},
		Open: func(p *scenarios.Process) (scenarios.Locker, error) {
			c, value := goredis.Open(p.Handle.(*simredis.Client), 0), p.Name()
			return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
				for !c.SetNX(ctx, "lock", value, 500*time.Millisecond).Val() {
					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-time.After(100 * time.Millisecond):
					}
				}
				return &scenarios.Hold{Unlock: func(ctx context.Context) error {
					if c.Get(ctx, "lock").Val() != value {
						return nil
					}
					return c.Del(ctx, "lock").Err()
				}}, nil
			}), nil
		},
	}
}

// The GET that matched before a DEL is told and shown, and lines have the source of commands.
func TestGetThenDel(t *testing.T) {
	scenario := locktest.Scenario(getThenDel(), 2, 1, 1)
	runner := engine.NewRunner(t)
	runner.GatherFacts(true)
	for schedule := range 3000 {
		result := runner.Run(scenario, strategy.NewRandom(5, schedule))
		for _, v := range result.Violations {
			if v.Property == history.OwnRelease {
				checkGetThenDel(t, result.Events, v)
				return
			}
		}
	}
	t.Error("no schedule violates the property")
}

func checkGetThenDel(t *testing.T, events []history.Event, v *history.Violation) {
	t.Helper()
	report := explain.NewReport("", timeline.Lock, events, []*history.Violation{v})
	report.Timeline.Width = 1000
	var text bytes.Buffer
	report.Decisive(&text) // A buffer takes everything.
	if want := "The command \"DEL lock\" of c1 deleted the key and did not look at its value. Its GET lock " +
		"before that had given c1 (event "; !strings.Contains(report.Whys[0].Text, want) {
		t.Errorf("%q is missing in\n%s", want, report.Whys[0].Text)
	}
	for _, want := range []string{
		`key "lock" set at the server by c2 \[get_then_del_test.go:\d+\]\n`,
		`c1 learns from the server: GET lock gives c1 \[get_then_del_test.go:\d+\]\n`,
		`key "lock" deleted at the server by c1 \[get_then_del_test.go:\d+\]\n`,
	} {
		if !regexp.MustCompile(want).MatchString(text.String()) {
			t.Errorf("%q is missing in\n%s", want, &text)
		}
	}
}
