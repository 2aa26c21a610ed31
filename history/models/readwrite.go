package models

import "github.com/anishathalye/porcupine"

// A readWriteState is the state of [ReadWrite].
type readWriteState struct {
	writer  int32
	readers processList // ascending; a process that reads twice is in it twice
}

// ReadWrite is a lock that one writer or any number of readers may hold. A writer may become a
// reader without releasing the lock. It accepts [Acquire] and [Release] of a writer,
// [AcquireShared] and [ReleaseShared] of a reader, and [Downgrade].
var ReadWrite = porcupine.Model{
	Init: func() any { return readWriteState{} },
	Step: func(state, input, _ any) (bool, any) {
		s, in := state.(readWriteState), input.(Input)
		with := func() processList {
			return s.readers.with(s.readers.insertionIndex(in.Process),
				in.Process)
		}
		switch in.Verb {
		case Acquire:
			return s.writer == 0 && s.readers == "", readWriteState{writer: in.Process}
		case Release:
			return s.writer == in.Process, readWriteState{readers: s.readers}
		case AcquireShared:
			return s.writer == 0, readWriteState{readers: with()}
		case Downgrade:
			return s.writer == in.Process, readWriteState{readers: with()}
		case ReleaseShared:
			if i := s.readers.index(in.Process); i >= 0 {
				return true, readWriteState{s.writer, s.readers.without(i)}
			}
		}
		return false, state
	},
	Hash: func(state any) uint64 {
		s := state.(readWriteState)
		return s.readers.hash() + uint64(s.writer)
	},
	DescribeOperation: describe,
	DescribeState: func(state any) string {
		s := state.(readWriteState)
		if s.readers != "" {
			return "read by " + s.readers.String()
		}
		return describeOwner(s.writer)
	},
}
