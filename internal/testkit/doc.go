// Package testkit groups what the tests of other packages use: random locks for the referee of the
// exhaustive search, scenarios of bundled locks, a browser, a NATS server, and the choice between
// quick and long tests.
package testkit
