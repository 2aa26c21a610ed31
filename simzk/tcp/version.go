package tcp

import (
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

// Version returns what a server says of its version: the release that is simulated, with the suffix
// -interlock, and when that release was built. The old form of the date is that of releases up to
// 3.6; go-zookeeper/zk understands no other.
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
