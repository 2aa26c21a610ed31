package simzk

import (
	"crypto/rand"
	"runtime"
	"sync"
)

// tamed is where the real client's GUIDs come from while it is tamed.
var guids guidSource

// alone is held while the real client is tamed.
var determinizeMu sync.Mutex

// Determinize makes the real client do the same in every run until the function that it returns is
// called. What the client draws on belongs to the whole program, so only one run can be tame at a
// time: the program is left one processor, and crypto/rand.Reader, from which the client takes
// GUIDs, is put in a reader's place that gives the same bytes each time.
func Determinize() (untame func()) {
	determinizeMu.Lock()
	processors := runtime.GOMAXPROCS(1)
	reader := rand.Reader
	guids.restart()
	rand.Reader = &guids
	return func() {
		guids.stop()
		rand.Reader = reader
		runtime.GOMAXPROCS(processors)
		determinizeMu.Unlock()
	}
}

// A guidSource is a reader that gives what it was offered, and what only depends on how often it
// was read where it was offered nothing.
type guidSource struct {
	// held from an offer until it is read, lest another goroutine get it that runs in between
	offerMu sync.Mutex

	mu      sync.Mutex
	active  bool // somebody will read what is offered
	offered []byte
	state   uint64
}

func (g *guidSource) restart() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active, g.state = true, 0
}

func (g *guidSource) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.active = false
}

// offer is what the goroutine reads next that calls it. It must do so.
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
	for ; n < len(p); n++ {
		g.state++
		p[n] = byte(mix(g.state, 0) >> 56)
	}
	return len(p), nil
}
