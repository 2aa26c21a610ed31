package scenarios

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/history"
)

// computeHashes computes the hashes by which local histories are compared.
func (p *localHistory) computeHashes() {
	r := &p.reaction
	flags := uint64(0)
	for i, flag := range [...]bool{
		r.waiting, r.cancelled, r.holds, r.ownResource, r.lost, r.over, p.dead,
	} {
		if flag {
			flags |= 1 << i
		}
	}
	looks := mix(uint64(r.stage)<<40|uint64(r.gate)<<32|uint64(uint32(r.attempt)), flags)
	p.outside = mix(mix(looks, p.openCalls), p.initial.hash())
	does := mix(p.outside, history.NewLog(r.events).Hash())
	does = mix(mix(does, r.client.Hash()), xxhash.Sum64String(r.panics))
	if p.resumes() {
		does = r.register.key(does)
	}
	p.reacts = does
}

// resumes reports whether a gate opened last.
func (p *localHistory) resumes() bool {
	return slices.ContainsFunc(p.inputs, func(s input) bool { return s.kind == resume })
}
