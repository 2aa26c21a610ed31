package tcp

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// statistics are what a member counts from its start, or from the word srst.
type statistics struct {
	received, sent int
	bytes          int64 // received
	latency        latency
}

// latency sums up how long requests took, in whole milliseconds as in ZooKeeper.
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

// average returns the mean, rounded to four digits after the point.
func (l *latency) average() float64 {
	if l.count == 0 {
		return 0
	}
	return math.Round(float64(l.total)/float64(l.count)*1e4) / 1e4
}

// whole returns the mean without what is after the point.
func (l *latency) whole() int64 { return l.total / max(1, l.count) }

// decimal writes a number as Java does: with a point, always.
func decimal(x float64) string {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
