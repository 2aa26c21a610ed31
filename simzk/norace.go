//go:build !race

package simzk

// RaceDetector tells whether the program was built with the race detector. It shuffles the
// scheduler's queues on purpose, so that the real client, whose goroutines are its own, does not do
// the same in every run, whatever [Determinize] does.
const RaceDetector = false
