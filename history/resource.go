package history

// A resource is what the lock protects, as the checkers follow it: its last version and who made
// it.
type resource struct {
	path    string
	version int64
	writer  int32
}

// A reading is what a process knows of a resource: the version that it has read, or made itself.
type reading struct {
	process int32
	path    string
	version int64
}

// accepted returns the resource that the event writes to, or -1. A resource in the ensemble, which
// its readings name by its path, is written to when its znode is created or changed: so a write of
// which the process never heard counts too. Any other is written to when it says so.
func accepted(resources []resource, e *Event) int {
	switch e.Kind {
	case ResourceWrite:
		if e.Err != "" || e.Path != "" {
			return -1
		}
	case NodeCreated, NodeChanged:
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

// withResource returns the resources with that of a reading, whose version is taken from it if the
// resource is new.
func withResource(resources []resource, e *Event) []resource {
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
