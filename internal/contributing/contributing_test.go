// Package contributing tests that docs/contributing.md holds: each of its changes is one new file
// and one table row.
package contributing_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/long"
)

const module = "../.."

// TestOneFileAndOneRow builds a command with a new fault kind, property, strategy, bundled lock and
// operation of ZooKeeper, each added as docs/contributing.md says, and uses them.
func TestOneFileAndOneRow(t *testing.T) {
	long.Only(t) // It builds the command.
	changed, without := make(overlay), make(overlay)
	for i := range recipes {
		r := &recipes[i]
		changed.add(t, r, inTheMiddle)
		if r.name != "property" && r.name != "operation" {
			without.add(t, r, inTheMiddle)
		}
	}
	changed.add(t, &recipe{
		files: map[string]string{
			"free": "scenarios/subjects", "append_data_client": "simzk/client/model",
			"append_data_test": "simzk/client/model",
		},
		rows: []row{{"scenarios/subjects/subjects.go", "Correct", "Merged(), Unmerged(), Free()"}},
	}, last)
	root, flag := t.TempDir(), changed.write(t)
	program := filepath.Join(root, "interlock")
	run(t, module, 0, "go", "build", flag, "-o", program, "./cmd/interlock")
	r := runCheck(t, root, program, "--lock", "unmerged", "--strategy", "random",
		"--clients", "1", "--faults", "drop-link=1", "--schedules", "300")
	if r.Status != 0 || total(r.FaultCoverage["drop-link"]) == 0 {
		t.Errorf("status %d, and the new fault struck %v", r.Status, r.FaultCoverage["drop-link"])
	}
	if r.property("first-out").Exercised == 0 {
		t.Error("the new property was never exercised")
	}
	r = runCheck(t, root, program, "--lock", "merged", "--strategy", "newest",
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
	found := runCheck(t, root, program, "--lock", "free", "--strategy", "exhaustive",
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
	merged := runCheck(t, root, program, append(single, "--lock", "merged")...)
	unmerged := runCheck(t, root, program, append(single, "--lock", "unmerged")...)
	if !merged.Complete || !unmerged.Complete || unmerged.States <= merged.States {
		t.Errorf("merged: complete %v with %d states; unmerged: complete %v with %d states",
			merged.Complete, merged.States, unmerged.Complete, unmerged.States)
	}

	r = runCheck(t, root, program, "--lock", "register", "--strategy", "exhaustive",
		"--clients", "2", "--cycles", "1")
	if verdict := r.property("client-mutual-exclusion").Verdict; r.Status != 0 || !r.Complete ||
		verdict != "holds" {
		t.Errorf("on the new service: status %d, complete %v, verdict %q", r.Status, r.Complete,
			verdict)
	}

	other := filepath.Join(root, "other")
	run(t, module, 0, "go", "build", without.write(t), "-o", other, "./cmd/interlock")
	testOtherRows(t, root, program, other)
	run(t, module, 0, "go", "test", flag, "-run", "TestAppendData", "./simzk/client/model")
	testOperation(t, program, other)
}

// testOtherRows tests that the row of the new property shifts nothing of the rows after it: each
// property is exercised as often as by the program without that row.
func testOtherRows(t *testing.T, root, program, other string) {
	t.Helper()
	arguments := []string{"--lock", "mutex", "--faults", "cut=1", "--schedules", "300"}
	got := runCheck(t, root, program, arguments...)
	want := runCheck(t, root, other, arguments...)
	got.Properties = slices.DeleteFunc(got.Properties,
		func(p judged) bool { return p.Name == "first-out" })
	if got.Status != 0 || want.property("linearizable").Exercised == 0 ||
		!slices.Equal(got.Properties, want.Properties) {
		t.Errorf("status %d, properties were exercised %v, without it %v",
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
	Properties []judged `json:"properties"`
}

// A judged property has its verdict and, of a campaign, how often it was exercised.
type judged struct {
	Name      string `json:"name"`
	Verdict   string `json:"verdict"`
	Exercised int    `json:"exercised"`
}

func (r *report) property(name string) (found judged) {
	for _, p := range r.Properties {
		if p.Name == name {
			found = p
		}
	}
	return found
}

func total(phases map[string]int) (sum int) {
	for _, n := range phases {
		sum += n
	}
	return sum
}

// runCheck runs interlock check and returns its report.
func runCheck(t *testing.T, directory, program string, arguments ...string) *report {
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

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
