package tcp

import (
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

// Version returns the version string of servers: the simulated release with the suffix -interlock,
// and its build date. oldDate selects the date format of releases up to 3.6, the only one that
// go-zookeeper/zk parses.
func Version(release simzk.Version, oldDate bool) string {
	name, built := "3.8.0", time.Date(2022, time.February, 25, 8, 49, 0, 0, time.UTC)
	if release == simzk.V39 {
		name, built = "3.9.4", time.Date(2025, time.August, 19, 19, 53, 0, 0, time.UTC)
	}
	layout := "2006-01-02 15:04 MST"
	if oldDate {
		layout = "01/02/2006 15:04 MST"
	}
	return name + "-interlock, built on " + built.Format(layout)
}
