// Package timers tells when the next timer of a bubble of [testing/synctest] fires. No exported
// function does: a goroutine that sleeps learns nothing of what others do meanwhile.
package timers

import (
	"runtime"
	"slices"
	"time"
	"unsafe"
)

// Timers are those of one bubble.
type Timers struct{ of *heap }

// A heap is the beginning of the type timers of the runtime.
type heap struct {
	_       uintptr // mutex
	entries []entry
}

// An entry is a timerWhen of the runtime. Its when is outdated if the timer has been set anew.
type entry struct {
	timer *timer
	when  int64
}

// A timer is the beginning of the type timer of the runtime.
type timer struct {
	mutex         uintptr
	astate, state uint8
	isChan        bool   // it sends to a channel, and counts only while a goroutine waits for that
	isFake        bool   // it is one of a bubble
	blocked       uint32 // how many goroutines wait for the channel
	rand          uint32
	when          int64 // 0 if it has been stopped
	period        int64
	f             func(arg any, seq uintptr, delay int64)
	arg           any
	seq           uintptr
	heap          *heap
}

// OfBubble returns the timers of the bubble of the calling goroutine. It panics if this version of
// Go keeps them in another way.
func OfBubble() Timers {
	const far = 100 * 365 * 24 * time.Hour
	probe := time.AfterFunc(far, func() {})
	defer probe.Stop()
	// Behind the exported fields of a time.Timer, the runtime keeps its own.
	t := (*timer)(unsafe.Add(unsafe.Pointer(probe), unsafe.Sizeof(*probe)))
	when := time.Now().Add(far).UnixNano()
	if !t.isFake || t.isChan || t.when != when || t.heap == nil ||
		!slices.Contains(t.heap.entries, entry{t, when}) {
		panic("timers: the timers of a bubble are unknown in " + runtime.Version())
	}
	return Timers{t.heap}
}

// Next returns how long it takes until the next timer fires, and false if none will. All goroutines
// of the bubble but the calling one must be durably blocked.
func (t Timers) Next() (after time.Duration, ok bool) {
	next := int64(0)
	for _, e := range t.of.entries {
		when := e.timer.when
		waits := when > 0 && (!e.timer.isChan || e.timer.blocked > 0)
		if waits && (next == 0 || when < next) {
			next = when
		}
	}
	return time.Duration(next - time.Now().UnixNano()), next > 0
}
