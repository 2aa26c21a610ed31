package faults_test

import (
	"testing"

	"github.com/interlock-sim/interlock/faults"
)

// Entries overlap if some faults are of both, and each has faults that are not of the other.
func TestOverlap(t *testing.T) {
	for plan, overlaps := range map[string]bool{
		"network=1,any=1": true, "calm=1,network@hold=1": true, "cut=1,any@hold=1": true,
		"cut:c1=1,cut@hold=1": true, "kill-server:leader=1,kill-server:s1=1": true,
		"partition-link:s1=1,partition-link:s2=1": true,

		"none": false, "any=2": false, "cut=1,any=1": false, "cut@hold=1,cut=1": false,
		"calm=1,network=1": false, "calm=1,clocks=1": false, "cut@hold=1,cut@wait=1": false,
		"cut:c1=1,cut:c2=1": false, "kill-server:leader=1,kill-server:follower=1": false,
		"partition-link:s1-s2=1,partition-link:s1-s3=1": false, "unreachable:c1=1,unreachable=1": false,
		"network=1,any=1,no:slow-link,no:slow-requests,no:slow-replies,no:slow-open,no:fail-write," +
			"no:unreachable,no:partition-link,no:partition-link-oneway": false,
	} {
		p := faults.MustParse(plan)
		if one, other, ok := p.Overlap(); ok != overlaps {
			t.Errorf("%s: overlap %v, of %v and %v", plan, ok, one, other)
		}
	}
}
