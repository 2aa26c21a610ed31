package simzk

// mutation breaks one of ZooKeeper's promises inside the simulator, so that tests can see the
// checkers notice. It is none in every program: only this package's own tests can set it.
type mutation uint8

const (
	faithful           mutation = iota
	acceptsStaleServer          // a server takes a client that has seen more than it has
	// of a watch that is handed over on a new connection, what was triggered meanwhile is not told
	losesMissedEvents
	delaysEvents      // a watch event is sent after the next answer
	expiresEarly      // a session ends when half its time is over
	leavesEphemerals  // the end of a session deletes no node
	commitsAlone      // the leader commits what nobody else has logged
	firesTwice        // a one-shot watch stays when it has fired
	losesEvents       // every other watch event is not sent
	reordersReplies   // answers overtake each other
	losesWrites       // a create is answered with success and not carried out
	repeatsWrites     // a create is carried out twice
	answersSyncEarly  // a follower answers a sync from what it has
	appliesEarly      // a follower applies what is not committed
	revivesSessions   // a session that has expired can be taken up again
	electsShortestLog // who has logged least leads
	mutationCount     // how many there are, with faithful
)

// sabotaged is what new clusters do.
var currentMutation = faithful
