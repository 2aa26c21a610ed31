package report_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// Every dimension of a scenario is stored, and changes the description of a scenario, the scope of
// a search, and what tells two campaigns apart.
func TestEveryDimensionIsNamed(t *testing.T) {
	d := scenarios.Dimensions{
		Clients: 2, Cycles: 3, Threads: 2, Faults: faults.MustParse("pause=1"),
		Severity: faults.Severity{Pause: time.Second, Drift: 9}, Client: scenarios.Real, Servers: 3,
	}
	most := d.Of(subjects.Mutex())
	text, err := json.Marshal(d)
	var again scenarios.Dimensions
	if err != nil || json.Unmarshal(text, &again) != nil || again != d ||
		most.Dimensions() != d {
		t.Errorf("stored as %s, error %v, and read as %+v", text, err, again)
	}
	for i := range reflect.TypeFor[scenarios.Dimensions]().NumField() {
		other := d
		field := reflect.ValueOf(&other).Elem().Field(i)
		name, omitted, _ := strings.Cut(
			reflect.TypeFor[scenarios.Dimensions]().Field(i).Tag.Get("json"), ",")
		if field.IsZero() {
			t.Errorf("the test sets no %s", name)
		}
		if field.SetZero(); omitted == "" && field.CanInt() {
			field.SetInt(1)
		}
		s := other.Of(subjects.Mutex())
		scope, otherScope := report.Scope{Scenario: &most}, report.Scope{Scenario: &s}
		if s.Dimensions() == d || s.String() == most.String() ||
			scope.String() == otherScope.String() ||
			!strings.HasPrefix(d.Difference(&other), name+" ") {
			t.Errorf("%s: %v; %v; %s", name, &s, &otherScope, d.Difference(&other))
		}
	}
}
