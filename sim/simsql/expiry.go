package simsql

import (
	"database/sql/driver"
	"math"
	"strconv"
	"strings"
	"time"
)

// expiryMax is how long after the present an instant in a row can be. A number further away is
// taken for no instant.
const expiryMax = 24 * time.Hour

// timeFormats are how SQL and Go write a time. Fractions of seconds are read in any of them.
var timeFormats = []string{
	time.DateTime, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05 -0700 MST",
}

// units are those in which a number counts the time since 1970.
var units = []time.Duration{time.Second, time.Millisecond, time.Microsecond, time.Nanosecond}

// instant returns the time since the start of the run that a value of a row may mean, and false if
// it means none. A run begins in the year 2000, so few other numbers look like one.
func instant(v driver.Value) (at time.Duration, ok bool) {
	switch v := v.(type) {
	case time.Time:
		at = v.Sub(epoch)
	case int64:
		return number(float64(v))
	case float64:
		return number(v)
	case []byte:
		return instant(string(v))
	case string:
		if n, err := strconv.ParseFloat(v, 64); err == nil { // The column has affinity TEXT.
			return number(n)
		}
		parsed, found := parseTime(v)
		if !found {
			return 0, false
		}
		at = parsed.Sub(epoch)
	default:
		return 0, false
	}
	return at, at >= 0 && at <= expiryMax
}

// number returns the instant that a number means, in the unit in which it is one.
func number(n float64) (at time.Duration, ok bool) {
	for _, unit := range units {
		since := n*unit.Seconds() - float64(epoch.Unix())
		if since >= 0 && since <= expiryMax.Seconds() {
			return time.Duration(math.Round(since * float64(time.Second))), true
		}
	}
	return 0, false
}

func parseTime(text string) (parsed time.Time, ok bool) {
	if !strings.HasPrefix(text, "2") {
		return parsed, false
	}
	for _, format := range timeFormats {
		if parsed, err := time.Parse(format, text); err == nil {
			return parsed, true
		}
	}
	return parsed, false
}
