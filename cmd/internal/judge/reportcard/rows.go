package reportcard

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-sim/interlock/cmd/bundled/redislocks"
	"github.com/interlock-sim/interlock/cmd/bundled/sqllocks"
	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/internal/base/unknown"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

// A Row is a lock of the card, and how it is searched.
type Row struct {
	Group      string // the locks with the same source
	Production bool   // the lock is one of package lock
	Subject    scenarios.Subject
	// Searches look for violations of what the lock claims. The scenario of the first also serves
	// the search for violations of what it does not claim.
	Searches []Search
	// ways names the ways in which exclusion breaks in a run, or is nil. Counterexamples that break
	// a property in different ways are listed apart.
	ways func([]history.Event) []string
}

// A Search is how schedules of a lock are searched.
type Search struct {
	Faults     string        // the fault plan
	Schedules  int           // maximum; of an exhaustive search 0 for no bound
	Servers    int           // 0 for as many as the lock needs
	Clients    int           // 0 for 3
	Cycles     int           // 0 for 2
	MaxPause   time.Duration `yaml:"-"` // 0 for the default severity
	Coverage   string        // cells in which faults must strike, or "" for none
	Exhaustive bool          `yaml:"-"`
}

// A group is a row of [groups].
type group struct {
	title string
	locks func() []scenarios.Subject
	// searches returns how each of the locks is searched.
	searches func(*scenarios.Subject) []Search
	ways     func([]history.Event) []string
}

// groups are the locks of the card, in its order, the production locks first. To add a lock, add it
// to a group, or add a group.
var groups = []group{
	{
		"Interlock", production, productionSearches, nil,
	},
	{
		"ZkLock, an article's Java class on Curator",
		list(subjects.JavaZKLock, subjects.JavaZKLockFinally), javaSearches, JavaZKLockWays,
	},
	{
		"Two introductions to ZooKeeper locks", list(subjects.ZKHerd, subjects.ZKPredecessor),
		zooKeeperSearches(), nil,
	},
	{
		"Apache Curator", list(subjects.Curator, subjects.CuratorTimed, subjects.CuratorListener,
			subjects.CuratorRWLock, subjects.CuratorRWLock55, subjects.CuratorSemaphore),
		zooKeeperSearches(Search{Faults: "cut@create=2"},
			Search{Faults: "cut@create=1", Servers: 3}), nil,
	},
	{"go-zookeeper/zk", list(subjects.ZKLock), zooKeeperSearches(), nil},
	{"Redis", redislocks.All, serverSearches, nil},
	{"SQL", sqllocks.All, serverSearches, nil},
}

func list(locks ...func() scenarios.Subject) func() []scenarios.Subject {
	return func() []scenarios.Subject {
		listed := make([]scenarios.Subject, len(locks))
		for i, lock := range locks {
			listed[i] = lock()
		}
		return listed
	}
}

// production are the locks of package lock, each with its own way to use it.
func production() []scenarios.Subject {
	return list(subjects.Mutex, subjects.TryLock, subjects.Reentrant, subjects.RWMutex,
		subjects.Semaphore, subjects.Multi, subjects.Guarded, subjects.Session)()
}

// productionSearches return the most thorough searches of the card: no finding ends them early.
func productionSearches(s *scenarios.Subject) []Search {
	plan := "expire=1"
	switch s.Name {
	case "mutex", "reentrant", "semaphore":
		plan = "any=1"
	case "multi":
		plan = "none"
	}
	return []Search{
		{Faults: "any=2", Schedules: 4000},
		{Faults: "any=3", Schedules: 1500, Servers: 3},
		{Faults: plan, Clients: 2, Cycles: 1, Exhaustive: true},
	}
}

// zooKeeperSearches returns searches with some faults of each kind, and then the given ones.
func zooKeeperSearches(further ...Search) func(*scenarios.Subject) []Search {
	return func(*scenarios.Subject) []Search {
		return append([]Search{
			{Faults: "any=2", Schedules: 2000},
			{Faults: "none", Schedules: 500},
			{Faults: "expire=1", Schedules: 1000},
			{Faults: "lose-reply=1", Schedules: 1000},
			{Faults: "cancel=1", Schedules: 500},
		}, withSchedules(further, 1000)...)
	}
}

// javaSearches have a plan for each way in which the Java lock breaks exclusion.
func javaSearches(*scenarios.Subject) []Search {
	return withSchedules([]Search{
		{Faults: "any=2"},
		{Faults: "none"},
		{Faults: "cut=1"},
		{Faults: "cancel=1"},
		{Faults: "lose-reply@release=1", Schedules: 4000},
		{Faults: "expire@list=1"},
		{Faults: "expire@watch=1"},
		{Faults: "expire@hold=1"},
	}, 1000)
}

// serverSearches have a plan for each kind of fault that the lock's servers suffer. Faults of
// servers strike a majority. A lock of several servers, whose schedules take longer, has fewer.
func serverSearches(s *scenarios.Subject) []Search {
	majority := s.Servers/2 + 1
	most, others := 300, 150
	if s.Servers >= 3 {
		most, others = 200, 100
	}
	searches := []Search{
		// Few pauses are long enough. This is also the search for what the lock does not claim.
		{Faults: "pause@hold=2", Schedules: 600},
		{Faults: "any=2", Schedules: most},
		{Faults: "none", Schedules: others},
	}
	for _, f := range []struct {
		kind  faults.Kind
		times int
	}{
		{faults.Crash, 1},
		{faults.LoseReply, 1},
		{faults.StallServer, 1},
		{faults.JumpClock, majority},
		{faults.WipeServer, majority},
		{faults.FailOver, majority},
		{faults.RestartServer, majority},
	} {
		if s.Service.Supports(f.kind) {
			searches = append(searches, Search{Faults: fmt.Sprintf("%v=%d", f.kind, f.times)})
		}
	}
	for i := range searches {
		searches[i].MaxPause = time.Second // Twice the expiry of the locks.
	}
	return withSchedules(searches, others)
}

// withSchedules sets the bound of searches without one.
func withSchedules(searches []Search, schedules int) []Search {
	for i := range searches {
		if searches[i].Schedules == 0 {
			searches[i].Schedules = schedules
		}
	}
	return searches
}

// Rows returns the rows of the card.
func Rows() []Row {
	var rows []Row
	for i := range groups {
		g := &groups[i]
		for _, s := range g.locks() {
			rows = append(rows, Row{
				Group: g.title, Production: i == 0, Subject: s, Searches: g.searches(&s),
				ways: g.ways,
			})
		}
	}
	return rows
}

// Named returns the rows of the locks with the names, in the order of the card, or an error that
// names a lock without a row.
func Named(names []string) ([]Row, error) {
	all := Rows()
	for _, name := range names {
		if slices.ContainsFunc(all, func(r Row) bool { return r.Subject.Name == name }) {
			continue
		}
		known := make([]string, len(all))
		for i := range all {
			known[i] = all[i].Subject.Name
		}
		return nil, unknown.Name("lock of the card", name, known)
	}
	return slices.DeleteFunc(all, func(r Row) bool {
		return !slices.Contains(names, r.Subject.Name)
	}), nil
}
