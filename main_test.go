package interlock_test

import (
	"os"
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/effort"
)

func TestMain(m *testing.M) {
	if os.Getenv(variantVariable) != "slow to shrink" {
		effort.Lower()
	}
	m.Run()
}
