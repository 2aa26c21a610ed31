// Package contributing tests that docs/contributing.md holds: each of its changes is one new file
// and one table row.
package contributing_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/long"
)

const module = "../.."

// TestOneFileAndOneRow adds a fault kind, a property, a strategy, two bundled locks and an
// operation of ZooKeeper to a copy of the module, each as docs/contributing.md says, and uses them.
func TestOneFileAndOneRow(t *testing.T) {
	long.Only(t) // It builds a copy of the module.
	root := filepath.Join(t.TempDir(), "interlock")
	copyModule(t, root)

	addFile(t, root, "drop_link", "internal/run/zookeeper")
	addRow(t, root, "internal/run/zookeeper/faults.go", "\tfaults.Cut: {",
		"\tfaults.DropLink: dropLink,\n")
	addRow(t, root, "faults/kind.go", "\tKinds // the number of kinds", "\tDropLink\n")
	addRow(t, root, "faults/kind_table.go", "\tCut: {",
		"\tDropLink: {name: \"drop-link\", meaning: \"the connection breaks\"},\n")
	addFile(t, root, "first_out", "history/check")
	addRow(t, root, "history/check/property_table.go",
		"\t{\n\t\tname:      history.Fencing,", // in the middle
		"\tfirstOut,\n")
	addFile(t, root, "explain_first_out", "history/explain")
	addRow(t, root, "history/explain/explain.go", "\thistory.ZooKeeperConsistency:",
		"\tfirstOut: (*story).explainFirstOut,\n")
	addFile(t, root, "newest", "internal/search/strategy")
	addRow(t, root, "internal/search/strategy/strategy.go", "\t\t{\n\t\t\tname: PortfolioName,",
		"\t\tnewestKind,\n")
	addFile(t, root, "sample", "scenarios/subjects")
	addRow(t, root, "scenarios/subjects/subjects.go", "\tfor _, d := range Defects() {\n\t\tall",
		"\tall = append(all, Sample(\"sample\", history.Progress, check.FirstOut),\n"+
			"\t\tSample(\"merged-sample\", history.Progress),\n"+
			"\t\tFree(\"free\", history.Progress, check.FirstOut))\n")
	addRow(t, root, "scenarios/subjects/subjects.go",
		"\t\"github.com/interlock-sim/interlock/scenarios\"",
		"\t\"github.com/interlock-sim/interlock/history\"\n"+
			"\t\"github.com/interlock-sim/interlock/history/check\"\n")
	addFile(t, root, "append_data", "simzk/operation")
	addRow(t, root, "simzk/operation/table.go", "\t&createSession,", "\t&appendData,\n")
	addFile(t, root, "append_data_client", "simzk/client/model")
	addFile(t, root, "append_data_test", "simzk/client/model")

	program := filepath.Join(root, "interlock")
	run(t, root, 0, "go", "build", "-o", program, "./cmd/interlock")
	r := check(t, root, program, "--lock", "sample", "--strategy", "random",
		"--clients", "1", "--faults", "drop-link=1", "--schedules", "300")
	if r.Status != 0 || total(r.FaultCoverage["drop-link"]) == 0 {
		t.Errorf("status %d, and the new fault struck %v", r.Status, r.FaultCoverage["drop-link"])
	}
	if r.exercised("first-out") == 0 {
		t.Error("the new property was never exercised")
	}
	r = check(t, root, program, "--lock", "merged-sample", "--strategy", "newest",
		"--faults", "none", "--schedules", "300")
	if r.Status != 0 || r.Strategy != "newest" || r.Schedules != 300 {
		t.Errorf("status %d after %d schedules of %s", r.Status, r.Schedules, r.Strategy)
	}
	for topic, line := range map[string]string{
		"faults":     "drop-link",
		"strategies": "newest      the newest message at every other decision",
	} {
		if help := run(t, root, 0, program, "help", topic); !strings.Contains(help, "\n  "+line) {
			t.Errorf("help %s does not have %q:\n%s", topic, line, help)
		}
	}

	// A property without a monitor switches merging off: the search finds what depends on nothing
	// but the order of two processes, which is in no other key, and visits more states.
	found := check(t, root, program, "--lock", "free", "--strategy", "exhaustive",
		"--clients", "2", "--cycles", "1", "--faults", "none")
	if found.Status != 1 || len(found.Violations) != 1 ||
		found.Violations[0].Property != "first-out" ||
		!strings.HasPrefix(found.Violations[0].Why, "c1 left its critical section") {
		t.Errorf("with the new property: status %d, violations %v", found.Status, found.Violations)
	}
	single := []string{
		"--strategy", "exhaustive", "--clients", "1", "--cycles", "2",
		"--faults", "cut=1",
	}
	merged := check(t, root, program, append(single, "--lock", "merged-sample")...)
	unmerged := check(t, root, program, append(single, "--lock", "sample")...)
	if !merged.Complete || !unmerged.Complete || unmerged.States <= merged.States {
		t.Errorf("merged: complete %v with %d states; unmerged: complete %v with %d states",
			merged.Complete, merged.States, unmerged.Complete, unmerged.States)
	}

	unchanged := filepath.Join(root, "unchanged")
	run(t, module, 0, "go", "build", "-o", unchanged, "./cmd/interlock")
	testOtherRows(t, root, program, unchanged)
	testOperation(t, root, program, unchanged)
}

// testOtherRows tests that the new row shifts nothing of the rows after it: each property is
// exercised as often as by the program of the unchanged module.
func testOtherRows(t *testing.T, root, program, unchanged string) {
	t.Helper()
	arguments := []string{"--lock", "mutex", "--faults", "cut=1", "--schedules", "300"}
	got := check(t, root, program, arguments...)
	want := check(t, root, unchanged, arguments...)
	got.Properties = slices.DeleteFunc(got.Properties,
		func(p exercise) bool { return p.Name == "first-out" })
	if got.Status != 0 || want.exercised("linearizable") == 0 ||
		!slices.Equal(got.Properties, want.Properties) {
		t.Errorf("status %d, properties were exercised %v, by the unchanged program %v",
			got.Status, got.Properties, want.Properties)
	}
}

// A report is what the test reads of the JSON report of interlock check.
type report struct {
	Status        int                       `json:"status"`
	Complete      bool                      `json:"complete"`
	Strategy      string                    `json:"strategy"`
	Schedules     int                       `json:"schedules"`
	States        int                       `json:"states"`
	FaultCoverage map[string]map[string]int `json:"fault_coverage"`
	Violations    []struct {
		Property string `json:"property"`
		Why      string `json:"why"`
	} `json:"violations"`
	Properties []exercise `json:"properties"`
}

// An exercise is how often a property was exercised.
type exercise struct {
	Name      string `json:"name"`
	Exercised int    `json:"exercised"`
}

func (r *report) exercised(property string) int {
	for _, p := range r.Properties {
		if p.Name == property {
			return p.Exercised
		}
	}
	return 0
}

func total(phases map[string]int) (sum int) {
	for _, n := range phases {
		sum += n
	}
	return sum
}

// check runs interlock check and returns its report.
func check(t *testing.T, directory, program string, arguments ...string) *report {
	t.Helper()
	path := filepath.Join(directory, "report.json")
	run(t, directory, -1, program, append([]string{"check", "--json", path}, arguments...)...)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(content, &r); err != nil {
		t.Fatal(err)
	}
	return &r
}

// run runs a command and returns what it prints. The command must end with the status unless that
// is negative.
func run(t *testing.T, directory string, status int, name string, arguments ...string) string {
	t.Helper()
	c := exec.Command(name, arguments...)
	c.Dir = directory
	output, err := c.CombinedOutput()
	if code := c.ProcessState.ExitCode(); code < 0 || status >= 0 && code != status {
		t.Fatalf("%s %v: %v\n%s", name, arguments, err, output)
	}
	return string(output)
}

// addFile adds a file of testdata to a package of the copy.
func addFile(t *testing.T, root, name, directory string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name+".go.txt"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, directory, name+".go"), content)
}

// addRow inserts a row before the only place of a text in a file of the copy.
func addRow(t *testing.T, root, file, before, row string) {
	t.Helper()
	path := filepath.Join(root, file)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(content), before); n != 1 {
		t.Fatalf("%s has %q %d times, want once", file, before, n)
	}
	write(t, path, []byte(strings.Replace(string(content), before, row+before, 1)))
}

// sources are the extensions of the files that packages are built from.
var sources = []string{".go", ".s", ".html", ".gohtml", ".css", ".js", ".txt"}

// copyModule copies the Go files of the module, without tests, and what they embed.
func copyModule(t *testing.T, to string) {
	t.Helper()
	err := filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(module, path)
		if err != nil {
			return err
		}
		name := d.Name()
		switch {
		case d.IsDir() && path != module && strings.HasPrefix(name, "."), d.IsDir() &&
			(name == "docs" || name == "node_modules"):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, relative), 0o755)
		case strings.HasSuffix(name, "_test.go"),
			!slices.Contains(sources, filepath.Ext(name)) && !strings.HasPrefix(name, "go.") &&
				!strings.Contains(relative, "testdata"):
			return nil
		}
		content, err := os.ReadFile(path)
		if err == nil {
			write(t, filepath.Join(to, relative), content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
