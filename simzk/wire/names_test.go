package wire_test

import (
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// TestOpNames checks that all types of requests have names, no two the same, and that others show
// their number.
func TestOpNames(t *testing.T) {
	taken := map[string]bool{}
	for _, op := range ops {
		name := op.String()
		if taken[name] {
			t.Errorf("%q is the name of two types", name)
		}
		taken[name] = true
		if unknown := op == 55; strings.HasPrefix(name, "op ") != unknown {
			t.Errorf("%d is called %q", int32(op), name)
		}
	}
	if got := wire.Op(55).String(); got != "op 55" {
		t.Errorf("got %q", got)
	}
}

// TestCodeNames checks that no two codes have the same name, and that those without a name show
// their number.
func TestCodeNames(t *testing.T) {
	if got := wire.OK.String(); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
	taken := map[string]bool{}
	for code := wire.Code(-130); code <= 0; code++ {
		name := code.String()
		if taken[name] {
			t.Errorf("%q is the name of two codes", name)
		}
		taken[name] = true
	}
	for code, want := range map[wire.Code]string{
		wire.NoNode: "no node", wire.MarshallingError: "marshalling error",
		wire.ReconfigDisabled: "reconfiguration disabled", -127: "code -127",
	} {
		if got := code.String(); got != want {
			t.Errorf("%d is called %q, want %q", int32(code), got, want)
		}
	}
}
