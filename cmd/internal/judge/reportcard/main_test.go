package reportcard_test

import (
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/testkit/chromium"
	"github.com/interlock-sim/interlock/internal/testkit/effort"
)

func TestMain(m *testing.M) {
	effort.Lower()
	chromium.Main(m)
}
