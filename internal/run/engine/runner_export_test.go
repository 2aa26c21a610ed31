package engine

// Keyless makes the runner skip state keys, like a campaign that no longer counts states.
func (r *Runner) Keyless() *Runner {
	r.NoKeys = true
	return r
}
