package exhaustive_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/testkit/everylock"
	"github.com/interlock-sim/interlock/scenarios"
)

var timeTraps = []everylock.TimeTrap{
	// Two timers only change what a process waits for, while another one is in its critical section.
	{Name: "what a process waits for", Clients: 3, Plan: "crash:c3=1", Lock: waitsTwice},

	// Timers only set a variable, several in the second of one tick.
	{
		Name: "timers within a second", Clients: 2, Plan: "crash:c2=1",
		Lock: func(_ context.Context, p *scenarios.Process, rare func(bool)) (*scenarios.Hold, error) {
			if p.Number == 2 {
				p.Client.Exists(p.Directory)
				return nil, errTaken
			}
			fired := 0
			time.AfterFunc(1200*time.Millisecond, func() { fired++ })
			time.AfterFunc(1700*time.Millisecond, func() { fired++ })
			return &scenarios.Hold{Unlock: func(context.Context) error {
				rare(fired == 1)
				return nil
			}}, nil
		},
	},

	// The deadlines of contexts pass.
	{
		Name: "deadlines", Clients: 2, Plan: "crash:c2=1",
		Lock: func(ctx context.Context, p *scenarios.Process, rare func(bool)) (*scenarios.Hold, error) {
			if p.Number == 2 {
				p.Client.Exists(p.Directory)
				return nil, errTaken
			}
			short, endShort := context.WithTimeout(ctx, time.Second)
			long, endLong := context.WithTimeout(ctx, 2*time.Second)
			return &scenarios.Hold{Unlock: func(context.Context) error {
				rare(short.Err() != nil && long.Err() == nil)
				endShort()
				endLong()
				return nil
			}}, nil
		},
	},

	// A call with a time limit returns, and the next one begins.
	{
		Name: "timed returns", Clients: 3, Plan: "crash:c3=1", Claim: history.Promptness,
		Lock: func(ctx context.Context, p *scenarios.Process, rare func(bool)) (*scenarios.Hold, error) {
			switch p.Number {
			case 2:
				_, err := p.Client.Create(p.Directory+"/x", nil, zk.FlagEphemeral,
					zk.WorldACL(zk.PermAll))
				return &scenarios.Hold{Unlock: func(context.Context) error {
					return p.Client.Delete(p.Directory+"/x", -1)
				}}, err
			case 3:
				p.Client.Exists(p.Directory)
				return nil, errTaken
			}
			there, _, events, err := p.Client.ExistsW(p.Directory + "/x")
			if err != nil || !there {
				return nil, errTaken
			}
			for attempt := 1; attempt <= 2; attempt++ {
				err = scenarios.Timed(ctx, time.Second, func() error {
					select {
					case <-events:
						return nil
					case <-time.After(time.Second):
						return errTaken
					}
				})
				rare(err == nil && attempt == 2)
				if err == nil {
					break
				}
			}
			return nil, errTaken
		},
	},

	// A process counts how often its client has tried in vain to connect.
	{
		Name: "failed attempts to connect", Clients: 1, Plan: "cut:c1=1",
		Lock: func(_ context.Context, p *scenarios.Process, rare func(bool)) (*scenarios.Hold, error) {
			failed, events := 0, p.Client.Events()
			go func() {
				for e := range events {
					if e.State == zk.StateConnecting {
						failed++
					}
				}
			}()
			_, _, err := p.Client.Exists(p.Directory)
			return &scenarios.Hold{Unlock: func(context.Context) error {
				rare(failed == 3)
				return nil
			}}, err
		},
	},
}

// waitsTwice waits for the release of another process, first for one second and then for two.
func waitsTwice(_ context.Context, p *scenarios.Process, rare func(bool),
) (*scenarios.Hold, error) {
	node := p.Directory + "/x"
	switch p.Number {
	case 2:
		_, err := p.Client.Create(node, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		return &scenarios.Hold{Unlock: func(context.Context) error {
			return p.Client.Delete(node, -1)
		}}, err
	case 3:
		p.Client.Exists(node)
		return nil, errTaken
	}
	there, _, events, err := p.Client.ExistsW(node)
	if err != nil || !there {
		return nil, errTaken
	}
	select {
	case <-events:
		return nil, errTaken
	case <-time.After(1 * time.Second):
	}
	select {
	case <-events:
		rare(true)
	case <-time.After(2 * time.Second):
	}
	return nil, errTaken
}

// Time stops wherever a timer of a process fires.
func TestTimeStopsWhereItMatters(t *testing.T) { everylock.TimeTraps(t, timeTraps) }
