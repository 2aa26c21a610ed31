package scenarios

// stacksHeld is how many goroutines it takes to set the average, beside the few that are there
// otherwise.
const stacksHeld = 32

// holdStacks makes the runtime begin goroutines with stacks as large as lock code mostly needs,
// until the function that it returns is called. A new goroutine's stack is as large as the stacks
// in use were on average at the last garbage collection (Go 1.19 release notes, "Runtime"). Those
// of a run have hardly begun by then, or have ended, so that without others all of them would begin
// small and be moved twice.
func holdStacks() (release func()) {
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
