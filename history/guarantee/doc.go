// Package guarantee decides whether a service keeps its own guarantees, on which locks rely: those
// of ZooKeeper on consistency and sessions, and those on watches. A violation of one is a defect of
// the simulated servers or of a client library, hardly of a lock.
//
// [ZooKeeperConsistency] and [NoLostWatch] decide a whole history; [Consistency] and [Watches]
// decide event by event. Package check has the rows of both properties, and reaches this package
// through two monitors (check/guarantees.go). [TreeOperations] and [SessionReads] compare a history
// with a model of the tree.
package guarantee
