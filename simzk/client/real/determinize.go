package real

import (
	"crypto/rand"
	mathrand "math/rand"
	"runtime"
	"sync"

	"github.com/interlock-sim/interlock/internal/base/hash64"
	"github.com/interlock-sim/interlock/simzk/dial"
)

// guids is the source of the real client's GUIDs between [Determinize] and its end.
var guids guidSource

// determinizeMu is held between [Determinize] and its end.
var determinizeMu sync.Mutex

// Determinize makes the real client deterministic until the returned function is called: it limits
// the program to one processor, and replaces crypto/rand.Reader, from which the client takes GUIDs,
// by a reader with the same bytes in every run. For lock code that draws random delays, it seeds
// math/rand, where GODEBUG=randseednop=0 allows that, and under interlock test math/rand/v2. All of
// this is global to the program, so a second call blocks until the first one's function is called.
func Determinize() (restore func()) {
	determinizeMu.Lock()
	processors := runtime.GOMAXPROCS(1)
	reader := rand.Reader
	guids.restart()
	rand.Reader = &guids
	//lint:ignore SA1019 There is no other way to make the global functions deterministic.
	mathrand.Seed(1)
	seed(1)
	return func() {
		seed(0)
		guids.stop()
		rand.Reader = reader
		runtime.GOMAXPROCS(processors)
		determinizeMu.Unlock()
	}
}

// seed seeds the global functions of math/rand/v2, if that is possible.
func seed(seed uint64) {
	if dial.Seed != nil {
		dial.Seed(seed)
	}
}

// A guidSource is a reader that returns the offered bytes. Without an offer, its bytes depend only
// on the process that reads, and on the number of bytes that this has read: the order in which
// processes read at one instant is that of the Go runtime.
type guidSource struct {
	// Held from an offer until its read, so that no other goroutine reads it.
	offerMu sync.Mutex

	mu      sync.Mutex
	active  bool // between restart and stop
	offered []byte
	owner   func() int     // the process of the calling goroutine, or nil
	read    map[int]uint64 // bytes by process, which is 0 if it is unknown
}

func (g *guidSource) restart() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active, g.owner, g.read = true, nil, make(map[int]uint64)
}

// attribute sets the function that tells which process reads.
func (g *guidSource) attribute(owner func() int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.owner = owner
}

func (g *guidSource) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active = false
}

// offer sets the bytes that the calling goroutine reads next. The goroutine must read them.
func (g *guidSource) offer(guid []byte) {
	g.mu.Lock()
	reads := g.active
	g.mu.Unlock()
	if !reads {
		return
	}
	g.offerMu.Lock()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.offered = guid
}

// Read fills p. It never fails.
func (g *guidSource) Read(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := copy(p, g.offered)
	if g.offered != nil {
		g.offered = nil
		g.offerMu.Unlock()
	}
	if n == len(p) {
		return n, nil
	}
	process := 0
	if g.owner != nil {
		process = max(0, g.owner()) // A goroutine of an earlier run belongs to no process.
	}
	for ; n < len(p); n++ {
		g.read[process]++
		p[n] = byte(hash64.Mix(g.read[process], uint64(process)) >> 56)
	}
	return n, nil
}
