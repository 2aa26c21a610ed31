package explain_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/explain"
	"github.com/interlock-sim/interlock/history/timeline"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/strategy"
	"github.com/interlock-sim/interlock/internal/testkit/locktest"
	"github.com/interlock-sim/interlock/scenarios"
)

// ownerLock is a lock that keeps its owner in the data of one znode. It sets the data without a
// version check, or with the version that it has read.
func ownerLock(checked bool) scenarios.Subject {
	s := locktest.Subject("owner", nil)
	s.Claims = []history.Property{history.ClientMutualExclusion, history.NoSpuriousFailure}
	s.Open = func(p *scenarios.Process) (scenarios.Locker, error) {
		path := p.Directory + "/cas"
		_, err := p.Client.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return nil, err
		}
		return scenarios.LockerFunc(func(ctx context.Context) (*scenarios.Hold, error) {
			return lockOwner(ctx, p, path, checked)
		}), nil
	}
	return s
}

func lockOwner(ctx context.Context, p *scenarios.Process, path string, checked bool) (
	*scenarios.Hold, error,
) {
	for {
		owner, stat, changed, err := p.Client.GetW(path)
		if err != nil {
			return nil, err
		}
		if len(owner) > 0 {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		version := int32(-1)
		if checked {
			version = stat.Version
		}
		_, err = p.Client.Set(path, []byte(p.Name()), version)
		if errors.Is(err, zk.ErrBadVersion) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &scenarios.Hold{Unlock: func(context.Context) error {
			_, err := p.Client.Set(path, nil, -1)
			return err
		}}, nil
	}
}

// explained returns what a report prints of the first run of a lock that violates a property, with
// the whole history.
func explained(t *testing.T, s scenarios.Subject, plan string, p history.Property) string {
	t.Helper()
	scenario := locktest.Planned(t, s, 2, 1, plan)
	runner := engine.NewRunner(t)
	runner.GatherFacts(true)
	for schedule := range 300 {
		result := runner.Run(&scenario, strategy.NewRandom(1, schedule))
		for _, v := range result.Violations {
			if v.Property == p {
				var text bytes.Buffer
				report := explain.NewReport("", timeline.Lock, result.Events, []*history.Violation{v})
				report.Timeline.Width = 1000
				report.Write(&text) // A buffer takes everything.
				text.WriteString("\nDECISIVE\n")
				report.Decisive(&text)
				return text.String()
			}
		}
	}
	return ""
}

// The timeline shows what a read returned and what was written, with versions, and the explanation
// says whose write was overwritten.
func TestOwnerOverwritten(t *testing.T) {
	text := explained(t, ownerLock(false), "none", history.ClientMutualExclusion)
	for _, want := range []string{
		"c1 overwrote what c2 had written (event 19) since c1's read of cas (event 16): it set cas " +
			"without a version check (event 29). c2 entered",
		`16  0.000s  ●  │  │  the server handles c1's get+watch cas`,
		`c1's get+watch cas: "" (version 0); watch 2 set [`,
		`c2 sends set cas to "c2", without a version check [`,
		`cas set to "c2" by c2 (version 1), without a version check [`,
		`cas set to "c1" by c1 (version 2), without a version check [`,
		`c1's set cas: done (version 2) [`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	_, decisive, _ := strings.Cut(text, "DECISIVE")
	for _, want := range []string{
		`c1's get+watch cas: "" (version 0)`, `set to "c1" by c1 (version 2)`,
		`set to "c2" by c2 (version 1)`,
	} {
		if !strings.Contains(decisive, want) {
			t.Errorf("%q is missing in\n%s", want, decisive)
		}
	}
}

// With a version check no write is overwritten.
func TestOwnerChecked(t *testing.T) {
	if text := explained(t, ownerLock(true), "none", history.ClientMutualExclusion); text != "" {
		t.Error(text)
	}
}

// An Open that fails is explained by its request and the fault, which the timeline shows.
func TestOpenFailed(t *testing.T) {
	text := explained(t, ownerLock(true), "cut=1", history.NoSpuriousFailure)
	_, decisive, _ := strings.Cut(text, "DECISIVE")
	if want := "c1's Open failed (event 14) because of one failed request, create cas (event 11), " +
		"instead of trying again. Its error is \"zk: connection closed\", and c1 never called " +
		"Lock. The request failed after cut had struck (event 9).\n"; !strings.Contains(text, want) {
		t.Errorf("%q is missing in\n%s", want, text)
	}
	for _, want := range []string{
		"FAULT cut c1", "c1 gets no answer to create cas: zk: connection closed",
		"c1 cannot ask for the lock: its Open has failed",
		"c1 gets no lock: Subject.Open fails: zk: connection closed",
	} {
		if !strings.Contains(decisive, want) {
			t.Errorf("%q is missing in\n%s", want, decisive)
		}
	}
}
