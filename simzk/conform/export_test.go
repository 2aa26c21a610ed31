package conform

import "time"

// SetResponseTimeout changes the response timeout and returns a function that restores it.
func SetResponseTimeout(d time.Duration) (restore func()) {
	before := responseTimeout
	responseTimeout = d
	return func() { responseTimeout = before }
}
