package simsql

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// A clock is what SQL statements read.
type clock struct {
	now  time.Duration
	read bool // since the last reset
}

// epoch is the date at the start of each run.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

const trueClock = 100 // the rate of an accurate clock, in percent

// functions returns the functions that replace SQLite's: those that read the clock read the
// server's. Those that would make runs differ, or that belong to a connection, are refused.
func (c *clock) functions() map[string]func([]driver.Value) (driver.Value, error) {
	all := map[string]func([]driver.Value) (driver.Value, error){
		"current_timestamp": func([]driver.Value) (driver.Value, error) {
			c.read = true
			return epoch.Add(c.now).Format(time.DateTime), nil
		},
		"unixepoch": func(args []driver.Value) (driver.Value, error) {
			if len(args) > 0 && args[0] == "now" {
				args = args[1:]
			}
			c.read = true
			at := epoch.Add(c.now)
			switch {
			case len(args) == 0:
				return at.Unix(), nil
			case len(args) == 1 && args[0] == "subsec":
				return float64(at.UnixMilli()) / 1000, nil
			}
			return nil, errors.New("simsql has unixepoch only of 'now', with or without 'subsec'")
		},
	}
	for _, name := range []string{
		"random", "randomblob", "date", "time", "datetime", "julianday", "strftime", "timediff",
		"current_date", "current_time", "last_insert_rowid", "changes", "total_changes",
	} {
		all[name] = func([]driver.Value) (driver.Value, error) {
			return nil, fmt.Errorf("simsql refuses the function %s", name)
		}
	}
	return all
}

// local returns the time by the server's clock.
func (d *database) local(now time.Duration) time.Duration {
	return d.base + (now-d.since)*time.Duration(d.rate)/trueClock
}

// setClock changes the rate of the clock and sets it ahead.
func (d *database) setClock(now time.Duration, rate int, ahead time.Duration) {
	d.base, d.since, d.rate = d.local(now)+ahead, now, rate
}
