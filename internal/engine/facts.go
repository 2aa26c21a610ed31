package engine

// GatherFacts sets whether the events of the runner's runs carry [history.Facts], which reports
// show. Runs that gather them are slower; their trace hashes and state keys are the same.
func (r *Runner) GatherFacts(on bool) { r.log.GatherFacts(on) }
