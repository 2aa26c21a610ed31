package tcp

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// statistics count a member's messages since its start or the last srst.
type statistics struct {
	received, sent int
	bytes          int64 // received
	latency        latency
}

// latency summarizes request latencies in whole milliseconds, as in ZooKeeper.
type latency struct {
	count, total   int64
	last, min, max int64
}

func (l *latency) add(elapsed time.Duration) {
	l.last = elapsed.Milliseconds()
	if l.count == 0 || l.last < l.min {
		l.min = l.last
	}
	l.max = max(l.max, l.last)
	l.count++
	l.total += l.last
}

// average returns the mean rounded to four decimals.
func (l *latency) average() float64 {
	if l.count == 0 {
		return 0
	}
	return math.Round(float64(l.total)/float64(l.count)*1e4) / 1e4
}

// truncatedAverage returns the mean rounded down.
func (l *latency) truncatedAverage() int64 { return l.total / max(1, l.count) }

// decimal formats a number as Java does, with at least one decimal.
func decimal(x float64) string {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
