package engine

// An observer is a strategy that sees the state in which a run ends, before its processes are torn
// down. It does not see the end of a run that is cancelled.
type observer interface {
	Strategy
	Observe(View)
}
