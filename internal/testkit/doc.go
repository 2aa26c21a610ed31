// Package testkit groups what the tests of other packages use: random locks for the referee of the
// exhaustive search, scenarios of bundled locks, tests of what holds for every lock, and the choice
// between quick and long tests.
package testkit
