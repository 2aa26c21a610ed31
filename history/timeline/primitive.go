package timeline

import (
	"slices"
	"strings"

	"github.com/interlock-sim/interlock/history"
)

// A Primitive is what the processes of a history coordinate by.
type Primitive string

// The primitives.
const (
	Lock          Primitive = ""
	Barrier       Primitive = "barrier" // Lock sets it, and shared calls of Lock wait at it
	DoubleBarrier Primitive = "double barrier"
	Election      Primitive = "election"
)

// PrimitiveOf returns the primitive that makes the claims, and whose attempts may share it or not.
func PrimitiveOf(claims []history.Property, shares bool) Primitive {
	switch {
	case slices.Contains(claims, history.OneLeaderPerTerm):
		return Election
	case !slices.Contains(claims, history.NoEarlyPass):
		return Lock
	case shares:
		return Barrier
	}
	return DoubleBarrier
}

// wordings replace phrases about a lock by phrases about the primitive. Of two phrases at one
// place, the first counts.
var wordings = map[Primitive]*strings.Replacer{
	Barrier: strings.NewReplacer(append([]string{
		"asks for the lock (shared)", "calls LockShared at the barrier",
		"HAS THE LOCK (shared)", "PASSES THE BARRIER",
		"HAS THE LOCK", "HAS SET THE BARRIER",
		"has the lock", "has set or passed the barrier",
	}, barrierWords...)...),
	DoubleBarrier: strings.NewReplacer(append([]string{
		"HAS THE LOCK", "PASSES THE BARRIER",
		"has the lock", "has passed the barrier",
	}, barrierWords...)...),
	Election: strings.NewReplacer(
		"ask for the lock", "run for leader",
		"asks for the lock", "runs for leader",
		"not asked for the lock", "not run for leader",
		"had asked for the lock", "had run for leader",
		"is granted the lock", "is elected",
		"two unlocks", "two resignations",
		"as many unlocks as locks release the lock",
		"as many resignations as elections end the lead",
		"called the lock", "called the election",
		"took the lock", "became leader",
		"the lock refused", "the election refused",
		"asked for the lock", "ran for leader",
		"does not want the lock", "does not run for leader",
		"gets no lock", "is not elected",
		"HAS THE LOCK", "LEADS",
		"has the lock", "leads",
		"has it, not", "leads, not",
		"has lost the lock", "leads no more",
		"had lost the lock", "led no more",
		"was granted the lock", "was elected",
		"granted the lock", "elected",
		"was granted it", "was elected",
		"been granted it", "been elected",
		"had the lock", "led",
		"held the lock", "led",
		"held it", "led",
		"holds the lock", "leads",
		"holds it", "leads",
		"its lock", "its lead",
		"tries to lock", "tries to lead",
		"a lock with one owner", "an election with one leader",
		"unlocks", "resigns",
		"'s unlock", "'s resignation",
		"the unlock", "the resignation",
		"unlocked", "resigned",
		"released it", "resigned",
		"its holder", "its leader",
		", token", ", term",
		"with token", "in term",
		"not the lock", "not the election",
		"the lock allows", "the election allows",
		"'s lock", "'s election",
		"the lock", "the lead",
	),
}

// barrierWords are the phrases of both kinds of barriers.
var barrierWords = []string{
	"cannot ask for the lock", "cannot call Lock",
	"asks for the lock", "calls Lock at the barrier",
	"asked for the lock", "called Lock",
	"does not want the lock", "is not at the barrier",
	"wants the lock", "wants to pass",
	"tries to lock", "tries to call Lock",
	"gets no lock", "gets an error from Lock",
	"has it, not", "has, not",
	"lost the lock", "lost its place at the barrier",
	"was granted the lock", "returned from Lock",
	"been granted the lock", "returned from Lock",
	"is granted the lock", "returns from Lock",
	"be granted the lock", "return from Lock",
	"granted the lock", "without an error",
	"held the lock", "had passed",
	"hold the lock", "pass",
	"had the lock", "had passed",
	"took the lock", "passed",
	"called the lock", "called Lock",
	"two unlocks", "two calls of Unlock",
	"as many unlocks as locks release the lock",
	"as many calls of Unlock as of Lock leave the barrier",
	"of the lock went on", "of Lock went on",
	"a lock with one owner", "a barrier",
	"was granted it", "returned from Lock",
	"been granted it", "returned from Lock",
	"unlocks", "calls Unlock",
	"'s unlock", "'s Unlock",
	"the unlock", "the call of Unlock",
	"unlocked", "called Unlock",
	"its holder", "its process",
	"lock was lost", "place at the barrier was lost",
	"'s lock", "'s barrier",
	"the lock", "the barrier",
}

// In returns what a text says of a lock in words that fit the primitive.
func (p Primitive) In(text string) string {
	if words := wordings[p]; words != nil {
		return words.Replace(text)
	}
	return text
}
