package strategy

import "math/rand/v2"

// A Configuration is a scenario of a campaign as far as its share of the schedules depends on it.
type Configuration struct {
	Profile *Profile
	Weight  int
}

// Shares returns the shares of configurations by their weights.
func Shares(configurations []Configuration) []float64 {
	total := 0
	for _, c := range configurations {
		total += c.Weight
	}
	shares := make([]float64, len(configurations))
	for i, c := range configurations {
		shares[i] = float64(c.Weight) / float64(total)
	}
	return shares
}

// BlockSchedules is how many consecutive schedules have the same configuration: one for each turn
// of [RoundRobin], so that each strategy has its share in each configuration.
const BlockSchedules = len(portfolio)

// DrawConfiguration returns the configuration of a schedule. At first it is each configuration
// once, in their order; then it is drawn from the shares, so that it depends on no other period in
// the numbers of schedules.
func DrawConfiguration(shares []float64, seed uint64, schedule int) int {
	block, last := schedule/BlockSchedules, len(shares)-1
	if block <= last {
		return block
	}
	if last == 0 {
		return 0
	}
	var source rand.PCG
	source.Seed(seed^0x636f6e666967, uint64(block))
	draw := rand.New(&source).Float64()
	for i, share := range shares[:last] {
		if draw -= share; draw < 0 {
			return i
		}
	}
	return last
}
