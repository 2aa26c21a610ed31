package explore_test

import (
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
	"github.com/interlock-sim/interlock/sim"
)

// newLocal returns runs of a lock that a cut breaks.
func newLocal(t *testing.T, out string, clients int) *explore.Local {
	t.Helper()
	subject, err := subjects.Named("no-recheck")
	if err != nil {
		t.Fatal(err)
	}
	s := scenarios.Scenario{
		Subject: subject, Clients: clients, Cycles: 1, Faults: faults.Of(faults.Cut, 1),
	}
	return explore.NewLocal(engine.NewRunner(t), s,
		explore.Below(out, func(directory string) string { return "replay " + directory }))
}

// A remote has the answers of the runs at the other end, and its errors. If the connection ends,
// the request under way fails, and the next one connects again.
func TestRemote(t *testing.T) {
	ctx, out, local := t.Context(), t.TempDir(), newLocal(t, t.TempDir(), 3)
	var served []net.Conn
	remote, err := explore.NewRemote(func() (io.ReadWriteCloser, error) {
		near, far := net.Pipe()
		served = append(served, far)
		runs := newLocal(t, out, []int{3, 3, 2}[len(served)-1]) // The third test has been edited.
		go explore.Serve(ctx, far, runs)
		return near, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	if !reflect.DeepEqual(remote.Scenario(), local.Scenario()) {
		t.Errorf("%+v, want %+v", remote.Scenario(), local.Scenario())
	}
	cut := engine.Deviation{Index: 10, Step: sim.Step{Process: 2}.StruckBy(faults.Cut)}
	resume := engine.Deviation{Index: 11, Step: sim.Step{Kind: sim.Resume, Process: 1}}
	path := explore.Path{Length: engine.StepsMax, Deviations: []engine.Deviation{cut, resume}}
	for _, lenient := range []bool{true, false} {
		got, skipped, err := remote.Follow(ctx, path, lenient)
		want, missed, failed := local.Follow(ctx, path, lenient)
		bad := (*explore.BadPath)(nil)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(skipped, missed) ||
			(failed == nil) != lenient || errors.As(err, &bad) == lenient ||
			failed != nil && err.Error() != failed.Error() {
			t.Errorf("lenient %v: %v and %v, want %v and %v", lenient, skipped, err, missed, failed)
		}
	}
	path.Deviations = path.Deviations[:1]
	saved, err := remote.Save(ctx, path)
	if err != nil || saved.Property == "" || !strings.HasPrefix(saved.Replay, "replay "+out) {
		t.Errorf("%+v, error %v", saved, err)
	}

	served[0].Close()
	if _, _, err := remote.Follow(ctx, explore.Path{}, false); !errors.Is(err, io.EOF) {
		t.Errorf("error %v of a connection that has ended", err)
	}
	if _, _, err := remote.Follow(ctx, explore.Path{}, false); err != nil || len(served) != 2 {
		t.Errorf("error %v after %d connections", err, len(served))
	}
	served[1].Close()
	remote.Follow(ctx, explore.Path{}, false)
	_, _, err = remote.Follow(ctx, explore.Path{}, false)
	if err == nil || !strings.Contains(err.Error(), "another scenario now") {
		t.Errorf("error %v of a test with another scenario", err)
	}
}
