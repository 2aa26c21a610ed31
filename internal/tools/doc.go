// Package tools groups programs for maintainers: they compare the speed and the results of two
// commits, insert defects into the lock, the search and the simulator, run the lock on real servers
// under faults, and set the versions of a release.
package tools
