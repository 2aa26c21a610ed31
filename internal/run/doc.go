// Package run groups what performs one run of a scenario, in one goroutine bubble.
//
//   - zookeeper is the simulated ZooKeeper as a sim.System; packages simredis and simsql are
//     Redis and a database as one.
//   - engine executes the processes, lists the enabled steps, lets a strategy choose, performs the
//     step, and judges the history.
//   - scheduler lets the run decide which goroutine of a process runs next.
//   - flightrecorder and supervise keep the decisions of a run that ends the program.
//   - gobuild runs go test on a user's module.
//
// # The way of a request, from the lock to the tree and back
//
// The lock calls a method of its client, such as Create in simzk/client/model/calls.go. Its submit
// (conn.go) makes a call, which embeds an Exchange (simzk/request.go), keeps it, and blocks the
// goroutine. (The other client, simzk/client/real, is go-zookeeper/zk itself; frames.go reads
// Exchanges from what it has written.) When all goroutines of the bubble are blocked, Loop.observe
// (engine/loop.go) lets System.Collect pass the Exchanges to the Links of the clients (End.Collect,
// then Cluster.Send), in the order of processes and contents. Loop.perform passes the steps serve
// and deliver to System.Perform (zookeeper/system.go). At serve, Cluster.Serve (simzk/serve.go)
// takes the oldest request to handle and execute, which finds the operation in the table of
// simzk/operation. The operation reads or writes the tree of simzk/tree; once that is applied, the
// server queues the reply. At deliver, the client gets the reply (Cluster.Deliver, End.Deliver),
// and the call returns.
//
// # The way of a fault plan, from the flag to the step
//
// The command parses --faults with faults.Parse into the scenarios of the campaign
// (cmd/interlock/check.go); a test writes Scenario.Faults. The scenario refuses kinds that it
// cannot suffer (Scenario.faultsFit in scenarios/fitting_faults.go). In each state,
// Loop.appendFaults (engine/enabled.go) asks System.AppendFaults for the places where each kind
// that the plan still affords (engine/budget.go) can strike, and adds them to the enabled steps. If
// the strategy chooses one, Loop.strike (engine/perform.go) takes it from the plan, logs a
// history.Fault and calls System.Inject, which looks up what the service does to suffer the kind
// (zookeeper/faults.go). What processes do, strike adds itself: it replaces a process (restart),
// cancels a context (cancel), and notes whose link is slow (engine/slow_link.go).
package run
