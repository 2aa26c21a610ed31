package models

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// A processList is a sequence of processes in four bytes each. It is a string, so that == compares
// it and its parts can be shared.
type processList string

func (c processList) len() int { return len(c) / 4 }

func (c processList) at(i int) int32 {
	return int32(c[4*i])<<24 | int32(c[4*i+1])<<16 | int32(c[4*i+2])<<8 | int32(c[4*i+3])
}

// index returns the index of the process, or -1.
func (c processList) index(process int32) int {
	for i := range c.len() {
		if c.at(i) == process {
			return i
		}
	}
	return -1
}

// with returns the list with the process inserted at index i.
func (c processList) with(i int, process int32) processList {
	one := processList([]byte{
		byte(process >> 24), byte(process >> 16), byte(process >> 8),
		byte(process),
	})
	return c[:4*i] + one + c[4*i:]
}

// without returns the list without the process at index i.
func (c processList) without(i int) processList { return c[:4*i] + c[4*i+4:] }

// insertionIndex returns the index at which the process belongs in an ascending list.
func (c processList) insertionIndex(process int32) int {
	i := 0
	for i < c.len() && c.at(i) < process {
		i++
	}
	return i
}

var hashSeed = maphash.MakeSeed()

// hash returns a hash that is valid only within one operating-system process.
func (c processList) hash() uint64 { return maphash.String(hashSeed, string(c)) }

// String lists the processes.
func (c processList) String() string {
	names := make([]string, c.len())
	for i := range names {
		names[i] = fmt.Sprintf("c%d", c.at(i))
	}
	return strings.Join(names, ", ")
}
