// Package effort lowers what a search does with a violation that it finds.
package effort

import (
	"github.com/interlock-sim/interlock/internal/search/likelihood"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// Lower reduces the searches for a shorter schedule and the samples of the likelihood, except under
// `make long`. TestMain calls it in packages whose tests need neither.
func Lower() {
	if long.Enabled() {
		return
	}
	shrink.SearchCostMax /= 500
	likelihood.CurveStepsMax /= 50
	likelihood.AvoidanceStepsMax /= 50
}
