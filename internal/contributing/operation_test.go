package contributing_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// testOperation compares simulated servers by random operations, also by the new one. They find no
// difference between the program and itself, and a difference from a program whose server does not
// have the operation.
func testOperation(t *testing.T, program, other string) {
	t.Helper()
	if text := compare(t, program, program); text != "" {
		t.Errorf("the program differs from itself:\n%s", text)
	}
	text := compare(t, program, other)
	_, reproduction, _ := strings.Cut(text, "minimal reproduction")
	if !strings.Contains(reproduction, ": appendData ") {
		t.Errorf("the new operation is not in the difference from the other program:\n%s", text)
	}
}

// compare compares the simulated server of a program with that of another, and returns the first
// difference of random operations.
func compare(t *testing.T, program, other string) (difference string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.json")
	run(t, ".", -1, program, "conform", "--zookeeper", serve(t, other), "--operations", "2000",
		"--json", path)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Facts      int      `json:"facts"`
		Deviations []string `json:"fact_deviations"`
		Operations int      `json:"operations"`
		Difference string   `json:"difference"`
	}
	if err := json.Unmarshal(content, &report); err != nil {
		t.Fatal(err)
	}
	if report.Facts == 0 || len(report.Deviations) > 0 ||
		report.Difference == "" && report.Operations != 2000 {
		t.Errorf("%d operations, and %d facts with the deviations %q", report.Operations,
			report.Facts, report.Deviations)
	}
	return report.Difference
}

// serve starts the server of a program, which ends with the test, and returns its address.
func serve(t *testing.T, program string) (address string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, "serve", "--listen", "127.0.0.1:0", "--json",
		"--extended-types", "--super-digest", "super:D/InIHSb7yEEbrWz8b9l71RjZJU=")
	output, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Wait() }) // The end of the test's context has killed it.
	line, err := bufio.NewReader(output).ReadBytes('\n')
	var started struct {
		Addresses []string `json:"addresses"`
	}
	if err != nil || json.Unmarshal(line, &started) != nil || len(started.Addresses) != 1 {
		t.Fatalf("serve prints %q, error %v", line, err)
	}
	return started.Addresses[0]
}
