package reportcard

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/check"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/search/campaign"
	"github.com/interlock-sim/interlock/internal/search/exhaustive"
	"github.com/interlock-sim/interlock/internal/search/report"
	"github.com/interlock-sim/interlock/internal/search/shrink"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
)

// An Observer is told what a [Searcher] does.
type Observer interface {
	// Begin is called before each search.
	Begin(*Row, *campaign.Campaign)
	// Progress is called now and then during a search, with its report so far.
	Progress(report.Report)
	// Shrinking is called before each failure of a report is shrunk.
	Shrinking(r *report.Runs, index int)
	// End is called after the searches of a lock.
	End(*Lock)
}

// A Searcher searches the locks of a card.
type Searcher struct {
	T    *testing.T
	Seed uint64
	// Schedules, if not 0, is the maximum for each search.
	Schedules int
	// Out is the directory for recordings. It is created if it does not exist.
	Out      string
	Observer Observer
	// ClaimsOnly leaves out the search for violations of what a lock does not claim.
	ClaimsOnly bool
	// Searched, if set, is called with the report of each search for violations of what the lock
	// claims, before its failures are shrunk. It must not keep the report.
	Searched func(*Row, *campaign.Campaign, report.Report)
}

// Card searches the rows and writes the recordings of the counterexamples. If the context ends, the
// card is partial. An error names the lock: it is nondeterministic, or a recording could not be
// written.
func (s *Searcher) Card(ctx context.Context, rows []Row) (*Card, error) {
	card := &Card{
		Version: cardVersion, Seed: s.Seed, Properties: properties(), Locks: []*Lock{},
	}
	for i := range rows {
		lock, err := s.lock(ctx, &rows[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", rows[i].Subject.Name, err)
		}
		card.Locks = append(card.Locks, lock)
		card.Partial = card.Partial || ctx.Err() != nil
		s.Observer.End(lock)
	}
	return card, nil
}

// Scenario returns the scenario of a search of the row's lock, or an error that says what the lock
// or its service lacks.
func (r *Row) Scenario(s *Search) (*scenarios.Scenario, error) {
	plan, err := faults.Parse(s.Faults)
	if err != nil {
		return nil, err
	}
	scenario := &scenarios.Scenario{
		Subject: r.Subject, Clients: cmp.Or(s.Clients, 3),
		Cycles: cmp.Or(s.Cycles, 2), Faults: plan, Servers: s.Servers,
	}
	if s.MaxPause > 0 {
		scenario.Severity = faults.DefaultSeverity()
		scenario.Severity.Pause = s.MaxPause
	}
	if r.Subject.Real {
		scenario.Client = scenarios.Real
	}
	return scenario, scenario.Validate()
}

// lock searches a row.
func (s *Searcher) lock(ctx context.Context, row *Row) (*Lock, error) {
	l := &Lock{
		Name: row.Subject.Name, Group: row.Group, Production: row.Production,
		Summary: row.Subject.Summary, Searches: []Searched{},
	}
	judged := &rowSearch{Searcher: s, row: row, lock: l, names: make(map[string]bool)}
	for i := range row.Searches {
		if ctx.Err() != nil {
			break
		}
		if err := judged.search(ctx, &row.Searches[i]); err != nil {
			return nil, err
		}
	}
	if len(row.Searches) > 0 && !s.ClaimsOnly && ctx.Err() == nil {
		if err := judged.searchUnclaimed(ctx); err != nil {
			return nil, err
		}
	}
	judged.conclude()
	return l, nil
}

// A rowSearch is the state of the searches of a lock.
type rowSearch struct {
	*Searcher
	row   *Row
	lock  *Lock
	names map[string]bool // of recordings
	// reports are those of lock.Searches, and vacuity what each of them tested if it is exhaustive.
	reports []report.Report
	vacuity []check.Vacuity
	found   []found
	refuted map[history.Property]*Refutation
}

// found is a counterexample of a property.
type found struct {
	property history.Property
	*Counterexample
}

// campaign returns a search as a campaign. An exhaustive search has only its scenario and its
// bound.
func (r *rowSearch) campaign(s *Search) (*campaign.Campaign, error) {
	scenario, err := r.row.Scenario(s)
	if err != nil {
		return nil, err
	}
	c := &campaign.Campaign{
		Scenario: *scenario, Seed: r.Seed, Schedules: s.Schedules,
		Workers: runtime.GOMAXPROCS(0), KeepGoing: true,
	}
	if r.Schedules > 0 && (c.Schedules == 0 || c.Schedules > r.Schedules) {
		c.Schedules = r.Schedules
	}
	if scenario.Client == scenarios.Real || s.Exhaustive {
		c.Workers = 1
	}
	return c, nil
}

// run runs a search. If it is exhaustive, run adds up what its schedules test.
func (r *rowSearch) run(ctx context.Context, s *Search, c *campaign.Campaign,
	tested *check.Vacuity,
) (report.Report, error) {
	// A worker runs one goroutine at a time, and the real client needs a single processor.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Workers))
	r.Observer.Begin(r.row, c)
	var found report.Report
	if s.Exhaustive {
		defer debug.SetGCPercent(debug.SetGCPercent(exhaustive.GCPercent))
		limits := c.Scenario.Subject.EffectiveLimits()
		e := &exhaustive.Search{
			Scenario: c.Scenario, FairSuffixes: true, Schedules: c.Schedules, KeepGoing: true,
			IdleTicks:   exhaustive.DefaultIdleTicks(&c.Scenario),
			MemoryLimit: exhaustive.DefaultMemoryLimit(),
			Progress:    func(found *report.Exhaustive) { r.Observer.Progress(found) },
			Each: func(result *engine.Result) {
				// The fair phase begins in every state, so runs to an end pass all states.
				if !result.Pruned {
					tested.Add(result.Events, limits)
				}
			},
		}
		found = e.Run(ctx, r.T)
	} else {
		c.Progress = func(found *report.Campaign) { r.Observer.Progress(found) }
		found = c.Run(ctx, r.T)
	}
	if differs := found.Common().Nondeterministic; differs != nil {
		return nil, differs
	}
	return found, nil
}

// search searches for violations of what the lock claims, and shrinks the first of each property.
func (r *rowSearch) search(ctx context.Context, s *Search) error {
	c, err := r.campaign(s)
	if err != nil {
		return err
	}
	if r.row.ways != nil {
		c.Scenario.Subject.Distinguish = distinguish(r.row.ways)
	}
	var tested check.Vacuity
	found, err := r.run(ctx, s, c, &tested)
	if err != nil {
		return err
	}
	r.reports, r.vacuity = append(r.reports, found), append(r.vacuity, tested)
	r.lock.Searches = append(r.lock.Searches, searchedOf(c, found))
	if r.Searched != nil {
		r.Searched(r.row, c, found)
	}
	runs := found.Common()
	runs.Distinct = slices.DeleteFunc(firstOfEach(runs.Distinct), r.redundant)
	begin := func(index int) { r.Observer.Shrinking(runs, index) }
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(c.Workers))
	for group := range shrink.Distinct(ctx, r.T, c, found, begin) {
		if group.Err != nil {
			return group.Err
		}
		if err := r.keep(group); err != nil {
			return err
		}
	}
	return nil
}

// firstOfEach returns the first failure of each property, and of each way to break exclusion. It
// leaves out runs that break exclusion in several ways at once.
func firstOfEach(failures report.DistinctFailures) report.DistinctFailures {
	var first report.DistinctFailures
	for _, f := range failures {
		_, way := cutWay(f.Signature)
		if !strings.Contains(way, waySeparator) &&
			!slices.ContainsFunc(first, func(other report.DistinctFailure) bool {
				_, otherWay := cutWay(other.Signature)
				return other.Property == f.Property && otherWay == way
			}) {
			f.Candidates = nil // One counterexample of each is enough, whatever its cause.
			first = append(first, f)
		}
	}
	return first
}

// redundant reports whether a failure needs no counterexample, because its cell has one that breaks
// the property in the same way. Of a lock without known ways, each fault counts as one.
func (r *rowSearch) redundant(f report.DistinctFailure) bool {
	signature, way := cutWay(f.Signature)
	return r.row.ways != nil && slices.ContainsFunc(r.found, func(known found) bool {
		return known.property == f.Property && known.Signature == signature && known.Way == way
	})
}

const (
	wayPrefix    = "by way of " // begins the part of a signature that names ways
	waySeparator = "; "
)

// distinguish returns a function that tells violations of exclusion apart by their ways.
func distinguish(ways func([]history.Event) []string) func(*history.Violation,
	[]history.Event) string {
	return func(v *history.Violation, events []history.Event) string {
		if !slices.Contains(exclusion, v.Property) {
			return ""
		}
		names := ways(events)
		if len(names) == 0 {
			return ""
		}
		return wayPrefix + strings.Join(names, waySeparator)
	}
}

// cutWay returns a signature without the part that names ways, and that part.
func cutWay(signature string) (without, way string) {
	without, way, _ = strings.Cut(signature, ": "+wayPrefix)
	return without, way
}

func searchedOf(c *campaign.Campaign, found report.Report) Searched {
	runs := found.Common()
	s := Searched{
		Scenario: c.Scenario.String(), Schedules: runs.Schedules, Interrupted: runs.Interrupted,
	}
	schedules := fmt.Sprintf("%d schedules", runs.Schedules)
	e, ok := found.(*report.Exhaustive)
	if !ok {
		s.Scope = (&report.Scope{Scenario: &c.Scenario}).Sampled(schedules)
		return s
	}
	s.Exhaustive, s.Complete = true, e.Complete
	if s.Scope = e.Scope.String(); !e.Complete {
		s.Scope = e.Scope.Exhaustive(schedules + " of an incomplete exhaustive search")
	}
	return s
}

// keep adds a counterexample to the cells that it shows, and writes it, unless each of them has one
// with the same signature, way and faults.
func (r *rowSearch) keep(group *shrink.Group) error {
	c, err := plain(engine.NewRunner(r.T), group.Counterexample)
	if err != nil {
		return err
	}
	name := ""
	for _, f := range group.Failures {
		shown := &Counterexample{
			Scenario: c.Scenario.String(), Faults: c.Scenario.Faults.String(),
			Decisions: len(c.Recording.Deviations), TraceHash: c.Recording.TraceHash,
		}
		shown.Signature, shown.Way = cutWay(f.Signature)
		shown.Why = whyOf(c, shown.Signature)
		if r.has(f.Property, shown) {
			continue
		}
		if name == "" {
			name = r.name(f.Property, shown.Faults)
		}
		shown.Recording = name
		r.found = append(r.found, found{f.Property, shown})
	}
	if name == "" {
		return nil
	}
	if err := os.MkdirAll(r.Out, 0o755); err != nil {
		return err
	}
	return c.Recording.Write(name)
}

// plain returns a counterexample of the lock as others run it, which distinguishes no ways.
func plain(runner *engine.Runner, c *recording.Counterexample) (*recording.Counterexample, error) {
	if c.Scenario.Subject.Distinguish == nil {
		return c, nil
	}
	scenario := c.Scenario
	scenario.Subject.Distinguish = nil
	signature, _ := cutWay(c.Recording.Signature)
	return recording.NewCounterexample(runner, scenario, c.Recording.Deviations, signature,
		c.Recording.Seed, c.Recording.Schedule)
}

// exclusion are the properties of which one is violated if two processes hold the lock.
var exclusion = []history.Property{
	history.ServerMutualExclusion, history.ClientMutualExclusion, history.Linearizable,
}

func (r *rowSearch) has(p history.Property, shown *Counterexample) bool {
	return slices.ContainsFunc(r.found, func(f found) bool {
		return f.property == p && f.Signature == shown.Signature && f.Way == shown.Way &&
			(f.Faults == shown.Faults || r.row.ways != nil)
	})
}

// name returns the file of a new recording.
func (r *rowSearch) name(p history.Property, plan string) string {
	base := fmt.Sprintf("%s-%s-%s", r.lock.Name, p, slug(plan))
	name := base
	for n := 2; r.names[name]; n++ {
		name = fmt.Sprintf("%s-%d", base, n)
	}
	r.names[name] = true
	return filepath.Join(r.Out, name+".json")
}

// whyOf explains the violation with the signature.
func whyOf(c *recording.Counterexample, signature string) string {
	for _, why := range c.Explain().Whys {
		if why.Violation.Signature() == signature {
			return why.Text
		}
	}
	return ""
}

// searchUnclaimed searches for violations of what the lock does not claim. A lock that protects no
// resource gets one that checks nothing, and costs are judged as those of a queue.
func (r *rowSearch) searchUnclaimed(ctx context.Context) error {
	first := r.row.Searches[0]
	bound := unclaimedMax
	if r.row.Subject.Servers >= 3 {
		bound = unclaimedMaxServers
	}
	first.Exhaustive, first.Schedules = false, min(cmp.Or(first.Schedules, bound), bound)
	c, err := r.campaign(&first)
	if err != nil {
		return err
	}
	subject := &c.Scenario.Subject
	var unclaimed []history.Property
	for _, p := range properties() {
		if !p.EveryLock && !subject.Claimed(p.Name) {
			unclaimed = append(unclaimed, p.Name)
		}
	}
	if len(unclaimed) == 0 {
		return nil
	}
	if subject.Guard == scenarios.NoResource {
		subject.Guard = scenarios.Unguarded
	}
	if slices.Contains(unclaimed, history.NoHerd) {
		listens := subject.Limits.Listens
		subject.Limits = history.DefaultLimits
		subject.Limits.Listens = listens
	}
	subject.Claims = unclaimed
	found, err := r.run(ctx, &first, c, nil)
	if err != nil {
		return err
	}
	searched := searchedOf(c, found)
	r.lock.Unclaimed = &searched
	r.refuted = make(map[history.Property]*Refutation)
	for _, f := range firstOfEach(found.Common().Distinct) {
		r.refuted[f.Property] = &Refutation{f.Signature, f.Schedules, f.First.Schedule}
	}
	return nil
}

// The bounds of the schedules of the search for violations of what a lock does not claim.
const (
	unclaimedMax        = 500
	unclaimedMaxServers = 200 // of a lock of three servers or more, whose schedules take longer
)

// conclude sets the cells of the lock.
func (r *rowSearch) conclude() {
	subject := r.row.Subject
	for _, p := range properties() {
		cell := Cell{Property: p.Name}
		for _, f := range r.found {
			if f.property == p.Name {
				cell.Counterexamples = append(cell.Counterexamples, f.Counterexample)
			}
		}
		if subject.Claimed(p.Name) {
			r.judge(&cell)
		} else {
			cell.Verdict, cell.Refuted = report.NotClaimed, r.refuted[p.Name]
		}
		r.lock.Cells = append(r.lock.Cells, cell)
	}
}

// judge sets the verdict on a property that the lock claims.
func (r *rowSearch) judge(cell *Cell) {
	p, schedules, unknown, tested := cell.Property, 0, 0, false
	for i, found := range r.reports {
		runs := found.Common()
		schedules += runs.Schedules
		unknown += runs.Unknown
		if cell.OutOfContract == nil {
			cell.OutOfContract = outOfContract(p, r.lock.Searches[i].Scenario, runs)
		}
		if e, ok := found.(*report.Exhaustive); ok {
			if e.Exercised(p)+r.vacuity[i].Of(p) == 0 {
				continue
			}
			tested = true
			if reach := e.Reach(p); reach != report.SchedulesRun {
				cell.Reach = reach
			}
			continue
		}
		cell.Exercised += found.Exercised(p)
	}
	cell.Verdict = report.Evidence{
		Claimed: true, Violated: len(cell.Counterexamples) > 0,
		OutOfContract: cell.OutOfContract != nil, Schedules: schedules,
		Undecided: p == history.Linearizable && unknown > 0,
		Exercised: cell.Exercised > 0 || tested,
	}.Verdict()
	if cell.Verdict != report.Holds {
		cell.Reach = ""
	}
}

// outOfContract returns the first violation of the property out of contract in the runs of a
// scenario, or nil.
func outOfContract(p history.Property, scenario string, runs *report.Runs) *OutOfContract {
	for _, f := range runs.DistinctOutOfContract {
		if f.Property == p {
			signature, _ := cutWay(f.Signature)
			return &OutOfContract{scenario, Refutation{signature, f.Schedules, f.First.Schedule}}
		}
	}
	return nil
}
