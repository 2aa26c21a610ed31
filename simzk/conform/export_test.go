package conform

import "time"

// SetPatience changes how long a server may take to answer, and returns what undoes it.
func SetPatience(d time.Duration) (restore func()) {
	before := patience
	patience = d
	return func() { patience = before }
}
