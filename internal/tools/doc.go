// Package tools groups programs for maintainers: they compare the exported API, the speed and the
// results of two commits, insert defects into the lock, and run it on real servers under faults.
package tools
