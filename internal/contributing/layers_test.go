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
		"internal/engine", "internal/hash64",
		"internal/callsite", "internal/scheduler", "internal/goroutine",
	})
	simzk := with(events, "simzk", "simzk/wire", "simzk/tree", "simzk/operation",
		"simzk/internal/memory", "internal/callsite")
	shared := with(simzk, "simzk/client", "simzk/client/internal/library", "internal/hash64")
	clients := with(shared, "simzk/client/model", "simzk/client/real", "simzk/dial")
	report := with(engine, "internal/report", "internal/stateset")
	supervise := with(engine, "internal/recording", "internal/file", "internal/page",
		"internal/flightrecorder", "internal/supervise")
	recording := with(engine, "internal/recording", "internal/file", "internal/page")
	strategy := with(engine, "internal/strategy", "internal/stateset")
	replay := with(engine, "internal/replay", "internal/searchmutation", "internal/flat")
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
		"internal/gobuild": {
			"internal/gobuild", "internal/scheduler/overlay",
			"internal/processgroup",
		},
		"internal/processgroup": {"internal/processgroup"},
		"internal/scheduler":    {"internal/scheduler"},
		"internal/engine":       engine,
		"internal/zookeeper": slices.Concat(sim, clients,
			[]string{"internal/zookeeper"}),
		"sim/simredis": with(sim, "sim/simredis", "sim/internal/service", "internal/hash64",
			"internal/callsite"),
		"sim/simsql": with(sim, "sim/simsql", "sim/internal/service", "internal/hash64",
			"internal/callsite"),
		"scenarios": slices.Concat(clients, report, supervise, strategy, replay, []string{
			"internal/zookeeper", "internal/exhaustive", "internal/likelihood", "internal/campaign",
			"internal/conversion", "internal/shrink", "internal/program", "scenarios",
		}),
		"internal/flightrecorder": with(engine, "internal/flightrecorder"),
		"internal/supervise":      supervise,

		"internal/page":       with(explained, "internal/page"),
		"internal/report":     report,
		"internal/recording":  recording,
		"internal/strategy":   strategy,
		"internal/replay":     replay,
		"internal/likelihood": with(strategy, "internal/likelihood"),
		"internal/campaign":   slices.Concat(report, strategy, []string{"internal/campaign"}),
		"internal/shard": slices.Concat(report, strategy,
			[]string{"internal/campaign", "internal/program", "internal/shard"}),
		"internal/workqueue": slices.Concat(report, strategy, []string{
			"internal/campaign", "internal/program", "internal/shard", "internal/workqueue",
		}),
		"internal/localhttp": {"internal/localhttp"},
		"internal/dashboard": with(simzk, "internal/dashboard", "internal/localhttp", "simzk/tcp"),
		"internal/explore":   with(recording, "internal/explore", "internal/localhttp"),
		"internal/explore/terminal": with(recording, "internal/explore", "internal/localhttp",
			"internal/explore/terminal"),
		"internal/hunt": slices.Concat(report, recording, strategy, []string{
			"internal/campaign", "internal/localhttp", "internal/shrink", "internal/hunt",
		}),
		"internal/yamlfile": {"internal/yamlfile"},
		"internal/exhaustive": slices.Concat(report, replay, strategy,
			[]string{"internal/file", "internal/program", "internal/exhaustive"}),
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
	if want := []string{"internal/natstest", "internal/workqueue"}; !slices.Equal(found, want) {
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
