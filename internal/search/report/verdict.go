package report

// A Verdict says whether a lock keeps a property that was looked for.
type Verdict string

// The verdicts, from the strongest to the weakest.
const (
	Violated Verdict = "violated"
	// OutOfContract is the verdict if all violations are out of the lock's contract; see
	// [engine.Result.OutOfContract].
	OutOfContract Verdict = "violated, out of contract"

	Unknown      Verdict = "unknown" // a checker reached its limit
	Holds        Verdict = "holds"   // in every schedule that was run
	NotExercised Verdict = "not exercised"
	NotSearched  Verdict = "not searched" // no schedule was run
	NotClaimed   Verdict = "not claimed"
)

// Skips reports whether the verdict is that the property was not tested.
func (v Verdict) Skips() bool { return v == NotExercised || v == NotSearched || v == NotClaimed }

// Evidence is what searches have shown of a property.
type Evidence struct {
	Claimed bool
	// Violated and OutOfContract report that a violation was found within the lock's contract, and
	// out of it.
	Violated, OutOfContract bool

	Schedules int
	Undecided bool // a checker reached its limit in one of them
	Exercised bool // one of them tested the property
}

// Verdict returns the strongest verdict that the evidence allows.
func (e Evidence) Verdict() Verdict {
	switch {
	case !e.Claimed:
		return NotClaimed
	case e.Violated:
		return Violated
	case e.Schedules == 0:
		return NotSearched
	case e.OutOfContract:
		return OutOfContract
	case e.Undecided:
		return Unknown
	case !e.Exercised:
		return NotExercised
	}
	return Holds
}
