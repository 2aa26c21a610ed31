//go:build race

package real

// RaceDetector reports whether the program was built with the race detector. The detector shuffles
// the scheduler's queues, so the real client, which runs goroutines of its own, is not
// deterministic even under [Determinize].
const RaceDetector = true
