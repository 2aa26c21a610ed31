package simzk

// Sabotage makes all clusters that are made from now on break the promise of that number, until the
// function that it returns is called.
func Sabotage(which int) (restore func()) {
	currentMutation = mutation(which)
	return func() { currentMutation = faithful }
}

// SabotageCount is how many things [Sabotage] can do.
const SabotageCount = int(mutationCount) - 1

// Sabotages are the numbers of what [Sabotage] can do, by name.
var Sabotages = map[string]int{
	"a server takes a client that has seen more": int(acceptsStaleServer),
	"a watch is lost on a new connection":        int(losesMissedEvents),
	"an event comes after the data":              int(delaysEvents),
	"a session expires early":                    int(expiresEarly),
	"ephemeral nodes stay behind":                int(leavesEphemerals),
	"a commit without a majority":                int(commitsAlone),
	"a one-shot watch fires twice":               int(firesTwice),
	"an event is lost":                           int(losesEvents),
	"answers out of order":                       int(reordersReplies),
	"an acknowledged write is lost":              int(losesWrites),
	"a write is carried out twice":               int(repeatsWrites),
	"a sync does not wait":                       int(answersSyncEarly),
	"a transaction is applied before its commit": int(appliesEarly),
	"an expired session lives again":             int(revivesSessions),
	"who has logged least leads":                 int(electsShortestLog),
}
