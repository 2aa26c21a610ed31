package models

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// Semaphore returns the model of a semaphore with the given number of permits, which knows the
// holder of each. A process may hold several. It accepts [Acquire] and [Release].
func Semaphore(places int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return processList("") },
		Step: func(state, input, _ any) (bool, any) {
			holders, in := state.(processList), input.(Input)
			switch in.Verb {
			case Acquire:
				return holders.len() < places, holders.with(holders.insertionIndex(in.Process),
					in.Process)
			case Release:
				if i := holders.index(in.Process); i >= 0 {
					return true, holders.without(i)
				}
			}
			return false, state
		},
		Hash:              func(state any) uint64 { return state.(processList).hash() },
		DescribeOperation: describe,
		DescribeState: func(state any) string {
			holders := state.(processList)
			return fmt.Sprintf("%d of %d places taken: %v", holders.len(), places, holders)
		},
	}
}
