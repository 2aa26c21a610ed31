package contributing_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/interlock-sim/interlock/"

// Imports go downward only: each of these packages knows no package of the module but those listed.
func TestLayers(t *testing.T) {
	events := []string{"history"}
	explained := with(events, "history/models", "history/check", "history/cause",
		"history/timeline", "history/explain")
	sim := with(events, "sim", "faults")
	engine := slices.Concat(sim, explained, []string{
		"internal/run/engine", "internal/base/hash64",
		"internal/base/callsite", "internal/run/scheduler", "internal/base/goroutine",
	})
	simzk := with(events, "simzk", "simzk/wire", "simzk/tree", "simzk/operation",
		"simzk/internal/memory", "internal/base/callsite")
	shared := with(simzk, "simzk/client", "simzk/client/internal/library", "internal/base/hash64")
	clients := with(shared, "simzk/client/model", "simzk/client/real", "simzk/dial")
	report := with(engine, "internal/search/report", "internal/search/stateset")
	supervise := with(engine, "internal/show/recording", "internal/base/file", "internal/show/page",
		"internal/run/flightrecorder", "internal/run/supervise")
	recording := with(engine, "internal/show/recording", "internal/base/file", "internal/show/page")
	strategy := with(engine, "internal/search/strategy", "internal/search/stateset")
	replay := with(engine, "internal/search/replay", "internal/search/searchmutation", "internal/search/flat")
	for of, known := range map[string][]string{
		"lock":               {"lock"},
		"faults":             {"faults"},
		"history":            events,
		"history/otlp":       with(events, "history/otlp"),
		"sim":                sim,
		"simzk":              simzk,
		"simzk/client":       {"simzk/client"},
		"simzk/client/model": with(shared, "simzk/client/model"),
		"simzk/client/real":  with(shared, "simzk/client/real", "simzk/dial"),
		"simzk/dial":         {"simzk/dial"},
		"internal/run/gobuild": {
			"internal/run/gobuild", "internal/run/scheduler/overlay",
			"internal/base/processgroup",
		},
		"internal/base/processgroup": {"internal/base/processgroup"},
		"internal/run/scheduler":     {"internal/run/scheduler"},
		"internal/run/engine":        engine,
		"internal/run/zookeeper": slices.Concat(sim, clients,
			[]string{"internal/run/zookeeper"}),
		"sim/simredis": with(sim, "sim/simredis", "sim/internal/service", "internal/base/hash64",
			"internal/base/callsite"),
		"sim/simsql": with(sim, "sim/simsql", "sim/internal/service", "internal/base/hash64",
			"internal/base/callsite"),
		"scenarios": slices.Concat(clients, report, supervise, strategy, replay, []string{
			"internal/run/zookeeper", "internal/search/exhaustive", "internal/search/likelihood", "internal/search/campaign",
			"internal/conversion", "internal/search/shrink", "internal/base/program", "scenarios",
		}),
		"internal/run/flightrecorder": with(engine, "internal/run/flightrecorder"),
		"internal/run/supervise":      supervise,

		"internal/show/page":         with(explained, "internal/show/page"),
		"internal/search/report":     report,
		"internal/show/recording":    recording,
		"internal/search/strategy":   strategy,
		"internal/search/replay":     replay,
		"internal/search/likelihood": with(strategy, "internal/search/likelihood"),
		"internal/search/campaign":   slices.Concat(report, strategy, []string{"internal/search/campaign"}),
		"internal/search/shard": slices.Concat(report, strategy,
			[]string{"internal/search/campaign", "internal/base/program", "internal/search/shard"}),
		"internal/search/workqueue": slices.Concat(report, strategy, []string{
			"internal/search/campaign", "internal/base/program", "internal/search/shard", "internal/search/workqueue",
		}),
		"internal/base/localhttp": {"internal/base/localhttp"},
		"internal/show/dashboard": with(simzk, "internal/show/dashboard", "internal/base/localhttp", "simzk/tcp"),
		"internal/show/explore":   with(recording, "internal/show/explore", "internal/base/localhttp"),
		"internal/show/explore/terminal": with(recording, "internal/show/explore", "internal/base/localhttp",
			"internal/show/explore/terminal"),
		"internal/judge/hunt": slices.Concat(report, recording, strategy, []string{
			"internal/search/campaign", "internal/base/localhttp", "internal/search/shrink", "internal/judge/hunt",
		}),
		"internal/base/yamlfile": {"internal/base/yamlfile"},
		"internal/search/exhaustive": slices.Concat(report, replay, strategy,
			[]string{"internal/base/file", "internal/base/program", "internal/search/exhaustive"}),
	} {
		for _, found := range dependencies(t, of) {
			if !slices.Contains(known, found) {
				t.Errorf("%s imports %s", of, found)
			}
		}
	}
}

// Only the work queue knows NATS, and in tests the server that they start.
func TestNATSInOnePackage(t *testing.T) {
	c := exec.Command("go", "list", "-f",
		"{{.ImportPath}}:{{join .Imports \" \"}} {{join .TestImports \" \"}}", "./...")
	c.Dir = module
	output, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var found []string
	for line := range strings.Lines(string(output)) {
		path, imports, _ := strings.Cut(line, ":")
		if strings.Contains(imports, "github.com/nats-io/") {
			found = append(found, strings.TrimPrefix(path, modulePath))
		}
	}
	if want := []string{"internal/search/workqueue", "internal/testkit/natstest"}; !slices.Equal(found, want) {
		t.Errorf("%q import NATS, not %q", found, want)
	}
}

// with returns a list with more packages.
func with(packages []string, more ...string) []string { return slices.Concat(packages, more) }

// dependencies returns the packages of the module on which a package depends, itself included.
func dependencies(t *testing.T, of string) (found []string) {
	t.Helper()
	c := exec.Command("go", "list", "-deps", "./"+of)
	c.Dir = module
	output, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("go list -deps ./%s: %v\n%s", of, err, output)
	}
	for path := range strings.Lines(string(output)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(path), modulePath); ok {
			found = append(found, name)
		}
	}
	return found
}
