package replay

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/hash64"
)

// computeHashes computes the hashes by which local histories are compared.
func (p *LocalHistory) computeHashes() {
	r := &p.reaction
	flags := uint64(0)
	for i, flag := range [...]bool{
		r.Waiting, r.Cancelled, r.holds, r.ownResource, r.Lost, r.Over, p.dead,
	} {
		if flag {
			flags |= 1 << i
		}
	}
	looks := hash64.Mix(uint64(r.Stage)<<40|uint64(r.Gate)<<32|uint64(uint32(r.Attempt)), flags)
	p.Outside = hash64.Mix(hash64.Mix(looks, p.openCalls), p.initial.hash())
	does := hash64.Mix(p.Outside, history.NewLog(r.events).Hash())
	does = hash64.Mix(hash64.Mix(does, r.client.Hash()), xxhash.Sum64String(r.Panics))
	if p.resumes() {
		does = r.register.Key(does)
	}
	p.Reacts = does
}

// resumes reports whether a gate opened last.
func (p *LocalHistory) resumes() bool {
	return slices.ContainsFunc(p.inputs, func(s input) bool { return s.kind == resume })
}
