package main

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/internal/testkit/register"
)

// Every lock has a line below the title of its service, also one on a service that is new.
func TestPrintLocks(t *testing.T) {
	var printed bytes.Buffer
	locks := append(bundled.All(), register.Lock("registered", true))
	if err := printLocks(&printed, locks); err != nil {
		t.Fatal(err)
	}
	for i := range locks {
		name, service := locks[i].Name, locks[i].EffectiveService().Name()
		line := regexp.MustCompile(`(?m)^(\S.* )?[Oo]n ` + service + `\b.*:\n(  .*\n)*  ` +
			regexp.QuoteMeta(name) + ` `)
		if !line.Match(printed.Bytes()) {
			t.Errorf("no line for the lock %s on %s", name, service)
		}
	}
	if t.Failed() {
		t.Log(printed.String())
	}
}
