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
// The lock calls a method of its client, such as Create in simzk/client/model/calls.go. The call
// becomes an Exchange (simzk/request.go) that its client keeps (submit in conn.go), and its
// goroutine blocks. When all goroutines of the bubble are blocked, Loop.observe (engine/loop.go)
// lets System.Collect pass the Exchanges to the Links of the clients (End.Collect, then
// Cluster.Send), in the order of processes and contents. The step serve lets the server handle the
// oldest request: Cluster.Serve (simzk/serve.go) finds the operation in the table of
// simzk/operation, which reads or writes the tree of simzk/tree, and, once that is applied, queues
// the reply. The step deliver hands the reply to the client (Cluster.Deliver, End.Deliver), and
// the call returns.
//
// # The way of a fault plan, from the flag to the step
//
// The command parses --faults with faults.Parse into the scenarios of the campaign
// (cmd/interlock/check.go); a test writes Scenario.Faults. The scenario refuses kinds that
// it cannot suffer (scenarios/fitting_faults.go). In each state, Loop.appendFaults
// (engine/enabled.go) asks System.AppendFaults for the places where each kind that the plan still
// affords (engine/budget.go) can strike, and adds them to the enabled steps. If the strategy
// chooses one, Loop.strike (engine/perform.go) takes it from the plan, logs a history.Fault and
// calls System.Inject, which looks up what the service does to suffer the kind
// (zookeeper/faults.go).
package run
