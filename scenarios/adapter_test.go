package scenarios_test

import (
	"context"
	"errors"
	"testing"

	"github.com/interlock-sim/interlock/scenarios"
)

func TestMutex(t *testing.T) {
	type key struct{}
	refused := errors.New("refused")
	ctx := context.WithValue(t.Context(), key{}, "of the attempt")
	calls := ""
	call := func(name string, err error) func() error {
		return func() error { calls += name; return err }
	}
	with := func(name string, err error) func(context.Context) error {
		return func(ctx context.Context) error {
			calls += name +
				ctx.Value(key{}).(string)
			return err
		}
	}
	for _, tc := range []struct {
		name         string
		locker       scenarios.Locker
		calls        string
		lock, unlock error
	}{
		{
			"no result", scenarios.Mutex(func() { calls += "L" }, func() { calls += "U" }), "LU",
			nil, nil,
		},
		{"error", scenarios.Mutex(call("L", nil), call("U", refused)), "LU", nil, refused},
		{"refused", scenarios.Mutex(call("L", refused), call("U", nil)), "L", refused, nil},
		{
			"context", scenarios.Mutex(with("L", nil), with("U", refused)),
			"Lof the attemptUof the attempt", nil, refused,
		},
	} {
		calls = ""
		hold, err := tc.locker.Lock(ctx)
		if !errors.Is(err, tc.lock) || (hold == nil) != (tc.lock != nil) {
			t.Errorf("%s: Lock returns %v, %v", tc.name, hold, err)
		}
		if hold != nil {
			if err := hold.Unlock(ctx); !errors.Is(err, tc.unlock) {
				t.Errorf("%s: Unlock returns %v", tc.name, err)
			}
		}
		if calls != tc.calls {
			t.Errorf("%s: called %q, want %q", tc.name, calls, tc.calls)
		}
	}
}
