package simzk

// A mutation breaks one of ZooKeeper's guarantees in the simulator, to test that the checkers
// notice. Only this package's tests can set one.
type mutation uint8

const (
	faithful           mutation = iota
	acceptsStaleServer          // a server accepts a client that has seen more than it has
	// Events that a client missed while it was away are not sent after SetWatches.
	losesMissedEvents
	delaysEvents      // a watch event is sent after the next reply
	expiresEarly      // a session expires without its timeout
	leavesEphemerals  // the end of a session deletes no node
	commitsAlone      // the leader commits without a majority
	firesTwice        // a one-shot watch remains after it has fired
	losesEvents       // every other watch event is lost
	reordersReplies   // replies overtake one another
	losesWrites       // a create is acknowledged and not executed
	repeatsWrites     // a create is executed twice
	answersSyncEarly  // a follower answers a sync without waiting
	appliesEarly      // a follower applies uncommitted transactions
	revivesSessions   // an expired session can be resumed
	electsShortestLog // the server with the shortest log leads
	mutationCount
)

// currentMutation is the mutation of new clusters.
var currentMutation = faithful
