package bundled_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/cmd/bundled/goredis"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/sim/simredis"
)

// An explanation tells that a renewal was under way when the key expired, and that it overwrote the
// key of the next holder.
func TestRenewalUnderWay(t *testing.T) {
	s := locktest.Planned(t, renewedBySet(), 2, 1, "cut=1")
	runner := engine.NewRunner(t)
	texts := make(map[string]bool)
	for schedule := range 200 {
		result := runner.Run(&s, strategy.NewRandom(1, schedule))
		if !result.Fails(&s) {
			continue
		}
		text := explain.Of(result.Events, result.Violations).Whys[0].Text
		texts[text] = true
		if strings.Contains(text, ", which c1 overwrote (event ") &&
			strings.Contains(text, "c1 had sent \"SET lock c1 ex 3\" (event ") &&
			strings.Contains(text, "the server had not executed it when the key expired 2 s later.") {
			return
		}
	}
	t.Errorf("no such explanation among %v", texts)
}

// renewedBySet returns a lock whose holder sets its key again each second, blindly.
func renewedBySet() scenarios.Subject {
	open := func(p *scenarios.Process) (scenarios.Locker, error) {
		c, name := goredis.Open(p.Handle.(*simredis.Client), 0), fmt.Sprintf("c%d", p.Number)
		return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
			for !c.SetNX(ctx, "lock", name, 3*time.Second).Val() {
				time.Sleep(time.Second)
			}
			held, release := context.WithCancel(context.Background())
			go func() {
				for {
					select {
					case <-held.Done():
						return
					case <-time.After(time.Second):
						c.Set(held, "lock", name, 3*time.Second)
					}
				}
			}()
			return &scenarios.Hold{Unlock: func(ctx context.Context) error {
				release()
				return c.Del(ctx, "lock").Err()
			}}, nil
		}), nil
	}
	return scenarios.Subject{
		Name: "renewed-by-set", Service: simredis.Service{}, Servers: 1, Open: open,
		Claims: []history.Property{history.ClientMutualExclusion},
	}
}
