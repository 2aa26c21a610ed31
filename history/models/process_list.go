package models

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// A processList is processes in an order, as a string, which == compares and whose parts can be shared.
// Each takes four bytes.
type processList string

func (c processList) len() int { return len(c) / 4 }

func (c processList) at(i int) int32 {
	return int32(c[4*i])<<24 | int32(c[4*i+1])<<16 | int32(c[4*i+2])<<8 | int32(c[4*i+3])
}

// index returns where the process stands, or -1.
func (c processList) index(process int32) int {
	for i := range c.len() {
		if c.at(i) == process {
			return i
		}
	}
	return -1
}

// with returns the crowd with the process at place i.
func (c processList) with(i int, process int32) processList {
	one := processList([]byte{
		byte(process >> 24), byte(process >> 16), byte(process >> 8),
		byte(process),
	})
	return c[:4*i] + one + c[4*i:]
}

// without returns the crowd without the one at place i.
func (c processList) without(i int) processList { return c[:4*i] + c[4*i+4:] }

// insertionIndex returns the place at which the process belongs in a crowd that is in the order of numbers.
func (c processList) insertionIndex(process int32) int {
	i := 0
	for i < c.len() && c.at(i) < process {
		i++
	}
	return i
}

var crowdSeed = maphash.MakeSeed()

// hash is good within one process, which is all that a search needs.
func (c processList) hash() uint64 { return maphash.String(crowdSeed, string(c)) }

// String lists the processes.
func (c processList) String() string {
	names := make([]string, c.len())
	for i := range names {
		names[i] = fmt.Sprintf("c%d", c.at(i))
	}
	return strings.Join(names, ", ")
}
