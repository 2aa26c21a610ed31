package scenarios

// HoldStacks does what a campaign does before it begins, for benchmarks of what a campaign does.
var HoldStacks = holdStacks

// Keyless makes the runner's runs those of a campaign that counts no more states.
func (r *Runner) Keyless() *Runner {
	r.keyless = true
	return r
}
