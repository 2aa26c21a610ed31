package engine

// stacksHeld is how many goroutines outweigh the few others in the average.
const stacksHeld = 32

// WarmStacks makes new goroutines start with stacks as large as lock code mostly needs, until the
// returned function is called. The runtime starts goroutines with the average stack size at the
// last garbage collection (Go 1.19 release notes, "Runtime"). The goroutines of runs are mostly
// young or gone by then, so without WarmStacks each would start small and be moved twice.
func WarmStacks() (release func()) {
	done := make(chan struct{})
	for range stacksHeld {
		go holdStack(done)
	}
	return func() { close(done) }
}

// holdStack waits with as much on its stack as growStack makes room for.
//
//go:noinline
func holdStack(done <-chan struct{}) byte {
	var room [6 << 10]byte
	<-done
	room[len(done)]++ // Or else the compiler would see that no room is needed.
	return room[len(room)-1]
}
