package simsql_test

import (
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/sim"
	"github.com/interlock-sim/interlock/sim/simsql"
)

// The parts of statements that the cases below share. A row expires after a second.
const (
	takes     = "INSERT INTO locks VALUES ('job', 'c1', unixepoch('subsec') + 1, 0)"
	takesBy2  = "INSERT INTO locks VALUES ('job', 'c2', unixepoch('subsec') + 1, 0)"
	takesOver = "UPDATE locks SET owner = 'c2', expires = unixepoch('subsec') + 1 " +
		"WHERE name = 'job' AND expires <= unixepoch('subsec')"
	renews     = "UPDATE locks SET expires = unixepoch('subsec') + 1 WHERE name = 'job'"
	steals     = "UPDATE locks SET owner = 'c1', expires = unixepoch('subsec') + 1 WHERE name = 'job'"
	touches    = "UPDATE locks SET waiters = waiters + 1 WHERE name = 'job'"
	clears     = "DELETE FROM locks WHERE expires <= unixepoch('subsec')"
	clearsLate = "DELETE FROM locks WHERE expires <= unixepoch('subsec') + 5"
	releases   = "DELETE FROM locks WHERE name = 'job'"
	releases1  = "DELETE FROM locks WHERE name = 'job' AND owner = 'c1'"
	releases2  = "DELETE FROM locks WHERE name = 'job' AND owner = 'c2'"
)

// A row is released by the process that owns it. Each step is a process and its statement, or the
// time that passes.
func TestOwnership(t *testing.T) {
	for _, test := range []struct {
		name   string
		owner  string // Service.Owner
		steps  []string
		broken string // by whom, and whose row it was
	}{
		{"touched", "", []string{"c1 " + takes, "c2 " + touches, "c1 " + releases1}, ""},
		{
			"touched, and released without its owner", "",
			[]string{"c1 " + takes, "c2 " + touches, "c1 " + releases},
			"",
		},
		{
			"touched by another value", "",
			[]string{"c1 " + takes, "c2 UPDATE locks SET waiters = 7", "c1 " + releases1},
			"",
		},
		{
			"touched unless it is one's own", "", []string{
				"c1 " + takes, "c2 UPDATE locks SET waiters = waiters + 1 WHERE owner <> 'c2'",
				"c1 " + releases1,
			}, "",
		},
		{"touched, and released by another", "", []string{
			"c1 " + takes, "c2 " + touches, "c2 " + releases,
		}, "c2 deletes c1's"},
		{"released without its owner", "", []string{
			"c1 " + takes, "1s", "c2 " + takesOver, "c1 " + releases,
		}, "c1 deletes c2's"},
		{"taken over in time", "", []string{
			"c1 " + takes, "1s", "c2 " + takesOver, "c1 " + releases1, "c2 " + releases2,
		}, ""},
		{"cleared and inserted", "", []string{
			"c1 " + takes, "1s", "c2 " + clears, "c2 " + takesBy2, "c1 " + releases1,
			"c2 " + releases,
		}, ""},
		{"cleared and inserted in a transaction", "", []string{
			"c1 " + takes, "1s", "c2 BEGIN", "c2 " + clears, "c2 " + takesBy2, "c2 COMMIT",
			"c1 " + releases1, "c2 " + releases,
		}, ""},
		{"cleared while it is live", "", []string{
			"c1 " + takes, "c2 " + clearsLate,
		}, "c2 deletes c1's"},
		{"cleared after it was renewed", "", []string{
			"c1 " + takes, "900ms", "c1 " + renews, "900ms", "c2 " + clears, "c2 " + releases,
		}, "c2 deletes c1's"},
		{"cleared while it is live, by age", "", []string{
			"c1 INSERT INTO locks VALUES ('job', 'c1', unixepoch('subsec'), 0)", "1s",
			"c2 DELETE FROM locks WHERE expires < unixepoch('subsec') - 0.5", "c2 " + takesBy2,
			"c1 " + releases1, "c2 " + releases,
		}, ""},
		{"deleted whatever its age", "", []string{
			"c1 INSERT INTO locks VALUES ('job', 'c1', unixepoch('subsec'), 0)", "1s",
			"c2 " + releases,
		}, "c2 deletes c1's"},
		// The victim of a late renewal releases its own row; the thief does not.
		{"renewed late by another, released by its owner", "", []string{
			"c1 " + takes, "1s", "c2 " + takesOver, "c1 " + renews, "c2 " + releases2,
		}, ""},
		{"stolen by a late renewal, released by its owner", "", []string{
			"c1 " + takes, "1s", "c2 " + takesOver, "c1 " + steals, "c2 " + releases,
		}, ""},
		{"stolen by a late renewal, released by the thief", "", []string{
			"c1 " + takes, "1s", "c2 " + takesOver, "c1 " + steals, "c1 " + releases1,
		}, "c1 deletes c2's"},
		{"stolen by a late renewal, with an owner column", "owner", []string{
			"c1 " + takes, "1s", "c2 " + takesOver, "c1 " + steals, "c1 " + releases1,
		}, "c1 deletes c2's"},
		// A row that stays is free while its owner is empty.
		{"free and taken", "", []string{
			"c1 INSERT INTO locks VALUES ('job', NULL, NULL, 0)",
			"c2 UPDATE locks SET owner = 'c2' WHERE name = 'job' AND owner IS NULL",
			"c2 " + releases2,
		}, ""},
		{"free by what a transaction has read", "", []string{
			"c1 INSERT INTO locks VALUES ('job', NULL, NULL, 0)", "c2 BEGIN",
			"c2 SELECT * FROM locks", "c2 UPDATE locks SET owner = 'c2' WHERE name = 'job'",
			"c2 COMMIT", "c2 " + releases2,
		}, ""},
		{"free and cleared", "OWNER", []string{
			"c1 " + takes, "c1 UPDATE locks SET owner = NULL WHERE owner = 'c1'",
			"c2 DELETE FROM locks WHERE owner IS NULL",
		}, ""},
		{"touched, where the condition is on what is touched", "owner", []string{
			"c1 " + takes, "c2 UPDATE locks SET waiters = 1 WHERE waiters = 0", "c1 " + releases1,
		}, ""},
		{"taken by force, with an owner column", "owner", []string{
			"c1 INSERT INTO locks VALUES ('job', 'c1', NULL, 0)",
			"c2 UPDATE locks SET owner = 'c2'", "c2 " + releases2,
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			service := simsql.Service{
				Owner: test.owner, Schema: "CREATE TABLE locks " +
					"(name TEXT PRIMARY KEY, owner TEXT, expires REAL, waiters INTEGER)",
			}
			performOnService(t, service, func(s *stage, a, b *sql.DB) {
				for _, step := range test.steps {
					process, query, isQuery := strings.Cut(step, " ")
					if !isQuery {
						d, err := time.ParseDuration(step)
						if err != nil {
							t.Fatal(err)
						}
						s.pass(d)
						continue
					}
					db := map[string]*sql.DB{"c1": a, "c2": b}[process]
					c := exec(db, query)
					s.take("serve "+process, "deliver "+process)
					synctest.Wait()
					if _, err := strconv.Atoi(c.text); err != nil { // the number of rows
						t.Fatalf("%s: %s", step, c.text)
					}
				}
				got := ""
				if v := check.OwnRelease(s.log.Events()); v != nil {
					got = history.ProcessName(v.Evidence.Process) + " deletes " +
						history.ProcessName(v.Evidence.Other) + "'s"
				}
				if got != test.broken {
					t.Errorf("%q, want %q, after\n%v", got, test.broken, s.log.Events())
				}
			})
		})
	}
}

// A column that no table has owns nothing.
func TestOwnerColumnUnknown(t *testing.T) {
	defer func() {
		const want = `no table of the schema has the column "holder" of Service.Owner`
		if r := recover(); r == nil || !strings.Contains(r.(error).Error(), want) {
			t.Errorf("Reset panics with %v, want %s", r, want)
		}
	}()
	system := simsql.Service{Schema: "CREATE TABLE t (k TEXT PRIMARY KEY)", Owner: "holder"}.New()
	system.Reset(sim.Config{Servers: 1, Log: new(history.Log), Settle: func() {}})
}

// A write that leaves a row to its owner is noted, and whether it contests the row.
func TestForeignWrites(t *testing.T) {
	for _, test := range []struct {
		owner, query string // Service.Owner, and what c2 executes
		want         []history.Change
	}{
		{"", "SELECT * FROM locks", nil},
		{"", touches, []history.Change{{Path: "locks/job"}}},
		{"", "UPDATE locks SET expires = expires + 1", []history.Change{{Path: "locks/job"}}},
		{"", "UPDATE locks SET expires = unixepoch('subsec')", contested},
		{"", "UPDATE locks SET owner = 'c2'", contested},
		{"owner", "UPDATE locks SET owner = NULL", contested},
		{"waiters", "UPDATE locks SET owner = 'c2'", []history.Change{{Path: "locks/job"}}},
		{"", "UPDATE locks SET owner = 'c2' WHERE owner = 'c1'", nil}, // The row passes to c2.
	} {
		service := simsql.Service{
			Owner: test.owner, Schema: "CREATE TABLE locks " +
				"(name TEXT PRIMARY KEY, owner TEXT, expires REAL, waiters INTEGER)",
		}
		performOnService(t, service, func(s *stage, a, b *sql.DB) {
			s.log.GatherFacts(true)
			exec(a, takes)
			s.take("serve c1", "deliver c1")
			exec(b, test.query)
			s.take("serve c2", "deliver c2")
			var got []history.Change
			for _, e := range s.log.Events() {
				if e.Kind == history.Executed && e.Facts != nil {
					got = append(got, e.Facts.Changes...)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s: %+v, want %+v", test.query, got, test.want)
			}
		})
	}
}

var contested = []history.Change{{Path: "locks/job", Contests: true}}
