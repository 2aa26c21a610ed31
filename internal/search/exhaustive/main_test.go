package exhaustive_test

import (
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/effort"
)

func TestMain(m *testing.M) {
	effort.Lower()
	m.Run()
}
