package wire_test

import (
	"testing"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// TestCodeNames checks that codes have distinct names and that unknown codes show their number.
func TestCodeNames(t *testing.T) {
	if got := wire.OK.String(); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
	seen := map[string]bool{}
	for code := wire.Code(-130); code <= 0; code++ {
		name := code.String()
		if seen[name] {
			t.Errorf("two codes are named %q", name)
		}
		seen[name] = true
	}
	for code, want := range map[wire.Code]string{
		wire.NoNode: "no node", wire.MarshallingError: "marshalling error",
		wire.ReconfigDisabled: "reconfiguration disabled", -127: "code -127",
	} {
		if got := code.String(); got != want {
			t.Errorf("%d is named %q, want %q", int32(code), got, want)
		}
	}
}
