package stateset_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/interlock-sim/interlock/internal/search/stateset"
)

// A filter that fills up omits about as many keys as it says.
func TestBits(t *testing.T) {
	const keys = 50_000
	for _, bytes := range []int{1 << 13, 1 << 14, 1 << 16, 1 << 20} {
		b, random := stateset.NewBits(bytes), rand.New(rand.NewPCG(1, 2))
		omitted := 0
		for range keys {
			key := random.Uint64()
			if had := b.Has(key); b.Add(key) == had {
				t.Fatalf("%d bytes: Add and Has disagree about key %d", bytes, key)
			} else if had {
				omitted++
			}
			if !b.Has(key) {
				t.Fatalf("%d bytes: key %d is lost", bytes, key)
			}
		}
		if b.Len()+omitted != keys {
			t.Errorf("%d bytes: %d keys and %d omissions of %d", bytes, b.Len(), omitted, keys)
		}
		expected := b.Omissions()
		if math.Abs(expected-float64(omitted)) > 5*math.Sqrt(expected)+1 {
			t.Errorf("%d bytes: %d omissions, %.1f are expected", bytes, omitted, expected)
		}
	}
}
