package gobuild

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
)

// randomSource is the function of math/rand/v2 from which its global functions take randomness.
const randomSource = "func (runtimeSource) Uint64() uint64 {\n"

// randomAddition follows the source of math/rand/v2. The patched libraries call interlockSeed.
const randomAddition = `
var interlockState atomic.Uint64

//go:linkname interlockSeed

// interlockSeed makes the global functions return the same numbers after each call with the same
// seed, which is not 0. After a call with 0 they are random.
func interlockSeed(seed uint64) { interlockState.Store(seed) }

// interlockDraw returns the next number, unless the global functions are random.
func interlockDraw() (number uint64, ok bool) {
	if interlockState.Load() == 0 {
		return 0, false
	}
	x := interlockState.Add(0x9e3779b97f4a7c15) // splitmix64
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31, true
}
`

// seedRandom adds to the overlay a copy of math/rand/v2 with global functions that can be seeded.
// Programs draw random delays from them. If the source of this version of Go is different, the
// functions remain random, and runs that depend on them are reported as not repeatable.
func (b *Build) seedRandom(ctx context.Context) error {
	root, err := b.goOutput(ctx, "env", "GOROOT")
	if err != nil {
		return err
	}
	path := filepath.Join(strings.TrimSpace(root), "src", "math", "rand", "v2", "rand.go")
	content, err := os.ReadFile(path)
	const clause = "\npackage rand\n"
	if err != nil || bytes.Count(content, []byte(randomSource)) != 1 ||
		bytes.Count(content, []byte(clause)) != 1 || b.overlay[path] != "" {
		return nil
	}
	text := strings.NewReplacer(
		randomSource, strings.TrimSuffix(randomSource, "\n")+
			" if x, ok := interlockDraw(); ok { return x };\n",
		clause, strings.TrimSuffix(clause, "\n")+"; import \"sync/atomic\"\n",
	).Replace(string(content))
	b.seeds = true
	b.overlay[path] = b.file("rand.go")
	return os.WriteFile(b.overlay[path], []byte(text+randomAddition), 0o644)
}

// seedFormat is what generated files have beside [generatedFormat] if math/rand/v2 can be seeded.
const seedFormat = `
func init() { dial.Seed = interlockSeed }

//go:linkname interlockSeed math/rand/v2.interlockSeed
func interlockSeed(uint64)
`
