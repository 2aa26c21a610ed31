package contributing_test

// overBudget says what to do if a budget is exceeded or missing.
const overBudget = "Shorten what is there. A commit that adds or raises a budget in " +
	"internal/contributing/budgets_test.go says why."

// budgets are what the tests of this package keep.
var budgets = struct {
	words wordBudgets
	sizes sizeBudgets
}{
	sizes: sizeBudgets{
		function: 80, file: 500,
		files: map[string]int{
			"check.go":               668,
			"check_test.go":          588,
			"cmd/interlock/check.go": 550,
			"cmd/internal/show/page/chromium_test.go":  504,
			"history/check/no_herd.go":                 510,
			"history/explain/progress.go":              509,
			"internal/run/engine/loop.go":              555,
			"internal/search/exhaustive/search.go":     868,
			"internal/search/exhaustive/traps_test.go": 625,
			"lock/session.go":                          511,
			"scenarios/subjects/recipe.go":             726,
			"sim/simsql/system_test.go":                598,
		},
	},
	words: wordBudgets{
		total: 26000, internals: 6000, page: 1500,
		references: map[string]int{
			"docs/command-line.md":        2400,
			"docs/lock.md":                1800,
			"docs/properties.md":          1850,
			"docs/track-record.md":        1550,
			"docs/internals/lease.md":     2350,
			"docs/internals/soundness.md": 1650,
		},
		pages: map[string]int{
			"README.md":                        600,
			"docs/README.md":                   300,
			"docs/benchmarks.md":               1050,
			"docs/cluster.md":                  850,
			"docs/contributing.md":             820, // It names every file that a change touches.
			"docs/costs.md":                    500,
			"docs/counterexamples.md":          950,
			"docs/design.md":                   1050,
			"docs/exploration.md":              1300,
			"docs/faults.md":                   1250,
			"docs/fidelity.md":                 1300,
			"docs/glossary.md":                 700,
			"docs/goroutines.md":               600,
			"docs/in-the-wild.md":              900,
			"docs/migrating.md":                650,
			"docs/peers.md":                    450,
			"docs/production.md":               1000,
			"docs/redis.md":                    650,
			"docs/releases.md":                 700,
			"docs/server.md":                   950,
			"docs/sql.md":                      600,
			"docs/tutorial.md":                 750,
			"docs/your-own-lock.md":            1250,
			"docs/internals/mutation-score.md": 500,
			"docs/internals/replay-cache.md":   400,
			"docs/internals/shrinking.md":      350,
			"docs/internals/simulator.md":      400,
			"docs/internals/strategies.md":     600,
		},
	},
}
