package referee_test

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/referee"
)

// The search and plain runs agree on the locks that reveal a defect of the search. Each is named
// after its defect, which internal/tools/mutation inserts; make mutations finds further locks.
func TestWitnesses(t *testing.T) {
	text, err := os.ReadFile("testdata/witnesses.json")
	if err != nil {
		t.Fatal(err)
	}
	var witnesses map[string]*referee.Lock
	if err := json.Unmarshal(text, &witnesses); err != nil {
		t.Fatal(err)
	}
	var stored map[string]any
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(witnesses)) {
		t.Run(name, func(t *testing.T) {
			l := witnesses[name]
			var written any
			if err := json.Unmarshal([]byte(l.String()), &written); err != nil ||
				!reflect.DeepEqual(written, stored[name]) {
				t.Errorf("written as %v, error %v", l, err)
			}
			if j := referee.New(t).Judge(l); j.Verdict.Errs() {
				t.Error(j.Describe(l))
			}
		})
	}
}
