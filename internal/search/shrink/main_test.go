package shrink_test

import (
	"flag"
	"strconv"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/testkit/effort"
	"github.com/interlock-sim/interlock/internal/testkit/long"
)

var usualCostMax = shrink.SearchCostMax

func TestMain(m *testing.M) {
	effort.Lower()
	if err := flag.Set("rapid.checks", strconv.Itoa(long.Count(60, 100))); err != nil {
		panic(err)
	}
	m.Run()
}

// searchMore lets a test search for a shorter schedule almost as much as a program does.
func searchMore(t *testing.T) {
	lowered := shrink.SearchCostMax
	shrink.SearchCostMax = usualCostMax / long.Count(10, 1)
	t.Cleanup(func() { shrink.SearchCostMax = lowered })
}
