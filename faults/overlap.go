package faults

// Overlap returns two entries of the plan that share some faults, while each also has faults that
// the other lacks, and false if there are no such entries. [Plan.Spend] may take a shared fault
// from the entry that a later fault needs, so that a run has fewer faults than the plan allows.
func (p *Plan) Overlap() (one, other Entry, ok bool) {
	entries := p.Entries()
	for i, a := range entries {
		for _, b := range entries[:i] {
			if p.meet(&a, &b) && !p.includes(&a, &b) && !p.includes(&b, &a) {
				return b, a, true
			}
		}
	}
	return one, other, false
}

// kindsOf returns the kinds of an entry that the plan does not exclude.
func (p *Plan) kindsOf(a *Entry) kindSet { return coveredKinds[a.Kind] &^ p.without }

// includes reports whether every fault of b is one of a.
func (p *Plan) includes(a, b *Entry) bool {
	return p.kindsOf(b)&^p.kindsOf(a) == 0 && (!a.Phased || b.Phased && a.Phase == b.Phase) &&
		(a.Target == Target{} || a.Target == b.Target) &&
		(a.Instant == AnyInstant || a.Instant == b.Instant)
}

// meet reports whether a fault can be one of a and of b.
func (p *Plan) meet(a, b *Entry) bool {
	return p.kindsOf(a)&p.kindsOf(b) != 0 && (!a.Phased || !b.Phased || a.Phase == b.Phase) &&
		!apart(a.Kind, a.Target, b.Target)
}

// apart reports whether two targets of a kind never are the same client, server or link.
func apart(k Kind, a, b Target) bool {
	single := a.other == (end{}) && b.other == (end{})
	switch {
	case a == b || a == (Target{}) || b == (Target{}):
		return false
	case single && k.Strikes() != LinkOfServers:
		return a.one.fixed() && b.one.fixed() && a.one.role == b.one.role ||
			a.one.role >= leaderRole && b.one.role >= leaderRole
	}
	return a.one.fixed() && a.other.fixed() && b.one.fixed() && b.other.fixed()
}

// fixed reports whether the end is the same client or server in the whole run.
func (e end) fixed() bool { return e.role == numberedClient || e.role == numberedServer }
