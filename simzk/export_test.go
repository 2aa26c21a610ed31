package simzk

// Mutate applies a mutation to all new clusters, until the returned function is called.
func Mutate(which int) (restore func()) {
	currentMutation = mutation(which)
	return func() { currentMutation = faithful }
}

// MutationCount is the number of mutations.
const MutationCount = int(mutationCount) - 1

// Mutations are the arguments of [Mutate], by name.
var Mutations = map[string]int{
	"a server accepts a client that has seen more": int(acceptsStaleServer),
	"missed events are lost on a new connection":   int(losesMissedEvents),
	"an event comes after the next reply":          int(delaysEvents),
	"a session expires early":                      int(expiresEarly),
	"ephemeral nodes remain":                       int(leavesEphemerals),
	"a commit without a majority":                  int(commitsAlone),
	"a one-shot watch fires twice":                 int(firesTwice),
	"an event is lost":                             int(losesEvents),
	"replies out of order":                         int(reordersReplies),
	"an acknowledged write is lost":                int(losesWrites),
	"a write is executed twice":                    int(repeatsWrites),
	"a sync does not wait":                         int(answersSyncEarly),
	"a transaction is applied before its commit":   int(appliesEarly),
	"an expired session is resumed":                int(revivesSessions),
	"the server with the shortest log leads":       int(electsShortestLog),
}
