package check

import "github.com/interlock-sim/interlock/history"

// A resource is what the lock protects: its last version and the process that wrote it.
type resource struct {
	path    string
	version int64
	writer  int32
}

// A reading is the version of a resource that a process has last read or written.
type reading struct {
	process int32
	path    string
	version int64
}

// accepted returns the index of the resource that the event writes, or -1. A resource in the
// ensemble, which its readings name by its path, is written when its znode is created or changed,
// so a write whose reply was lost counts. Any other resource is written by an accepted
// ResourceWrite.
func accepted(resources []resource, e *history.Event) int {
	switch e.Kind {
	case history.ResourceWrite:
		if e.Err != "" || e.Path != "" {
			return -1
		}
	case history.NodeCreated, history.NodeChanged:
		if e.Path == "" {
			return -1
		}
	default:
		return -1
	}
	for r := range resources {
		if resources[r].path == e.Path {
			return r
		}
	}
	return -1
}

// withResource returns the resources with the one of a reading. A new resource has the version of
// the reading.
func withResource(resources []resource, e *history.Event) []resource {
	for r := range resources {
		if resources[r].path == e.Path {
			return resources
		}
	}
	return append(resources, resource{path: e.Path, version: e.Zxid})
}

func findReading(readings []reading, process int32, path string) int {
	for r := range readings {
		if readings[r].process == process && readings[r].path == path {
			return r
		}
	}
	return -1
}
