package faults_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
)

func TestParseCells(t *testing.T) {
	kinds := []faults.Kind{faults.Cut, faults.Cancel, faults.KillServer, faults.DelayRewatch}
	for _, tc := range []struct{ text, want string }{
		{"cut@hold", "cut@hold"},
		{" cut@wait , kill-server@idle", "cut@wait kill-server@idle"},
		{"cancel", "cancel@create cancel@list cancel@watch cancel@ask cancel@wait cancel@woken"},
		{"delay-rewatch", "delay-rewatch@wait delay-rewatch@hold delay-rewatch@release"},
		{"kill-server", "kill-server@idle kill-server@create kill-server@list kill-server@watch " +
			"kill-server@ask kill-server@wait kill-server@woken kill-server@hold " +
			"kill-server@release"},
	} {
		cells, err := faults.ParseCoverageCells(tc.text, kinds)
		if got := strings.Trim(fmt.Sprint(cells), "[]"); err != nil || got != tc.want {
			t.Errorf("%q: %s, %v; want %s", tc.text, got, err, tc.want)
		}
	}
	if cells, err := faults.ParseCoverageCells("all", kinds); err != nil || len(cells) != 8+6+9+3 {
		t.Errorf("all: %v, %v", cells, err)
	}
	for _, tc := range []struct{ text, want string }{
		{"", `unknown fault ""`},
		{"fire", `unknown fault "fire"; known are all, `},
		{"all@hold", `unknown fault "all"`},
		{"cut@lunch", `unknown phase "lunch"; known are idle, create, `},
		{"cut@idle", "cut@idle cannot be reached: a process is idle only"},
		{"cancel@release", "cancel@release cannot be reached: only a process that waits"},
		{"delay-rewatch@create", "delay-rewatch@create cannot be reached: it strikes a client " +
			"that has no connection"},
		{"crash", "the fault crash cannot strike"},
	} {
		if _, err := faults.ParseCoverageCells(tc.text, kinds); err == nil ||
			!strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%q: %v; want %s", tc.text, err, tc.want)
		}
	}
}
