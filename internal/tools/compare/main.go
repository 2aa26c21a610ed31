// Command compare runs the same searches with the command of another commit and with the present
// one, in turn, and prints a table: what both found, and the processor time of the present command
// relative to the other. It ends with status 1 if a result differs or, with -slowest, if a ratio
// exceeds that. Then it stops after three pairs where the ratio does not. With -quick it runs three
// short searches.
//
//	go run ./internal/tools/compare -base COMMIT [-pairs 9] [-slowest 1.05] [-quick]
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// searches are the arguments of interlock check, and those added with -quick, or none for a search
// that -quick leaves out.
var searches = []struct{ arguments, quick string }{
	{arguments: "--lock mutex --faults any=2 --schedules 20000 --seed 1"},
	{arguments: "--lock mutex --faults any=2 --schedules 8000 --seed 1 --servers 3"},
	{arguments: "--lock mutex --schedules 2000 --seed 1 --client real"},
	{
		"--lock mutex --clients 3 --cycles 1 --faults any=1 --strategy exhaustive --states 100000",
		"--states 30000",
	},
	{
		"--lock textbook --clients 3 --cycles 1 --servers 1 --faults none --strategy random " +
			"--schedules 40000", "--schedules 15000",
	},
	{"--lock setnx-lease --faults none --schedules 3000 --seed 1", "--schedules 1500"},
	{arguments: "--lock redlock --faults none --schedules 1000 --seed 1"},
	{arguments: "--lock unique-index --faults none --schedules 1000 --seed 1"},
}

// pairsMin is how many pairs of runs each search has at least.
const pairsMin = 3

func main() {
	base := flag.String("base", "", "the commit to compare with")
	pairs := flag.Int("pairs", 9, "number of pairs of runs")
	slowest := flag.Float64("slowest", 0, "greatest ratio of processor times; 0: any")
	quick := flag.Bool("quick", false, "run three short searches")
	flag.Parse()
	passes, err := compare(*base, *pairs, *slowest, *quick)
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(2)
	}
	if !passes {
		os.Exit(1)
	}
}

func compare(base string, pairs int, slowest float64, quick bool) (passes bool, err error) {
	if base == "" || pairs < 1 {
		return false, fmt.Errorf("-base must name a commit, and -pairs be at least 1")
	}
	directory, err := os.MkdirTemp("", "interlock-compare-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(directory)
	old, present, tree := filepath.Join(directory, "old"), filepath.Join(directory, "present"),
		filepath.Join(directory, "tree")
	if err := run(".", "git", "worktree", "add", "--detach", tree, base); err != nil {
		return false, err
	}
	defer run(".", "git", "worktree", "remove", "--force", tree)
	if err := run(tree, "go", "build", "-o", old, "./cmd/interlock"); err != nil {
		return false, err
	}
	if err := run(".", "go", "build", "-o", present, "./cmd/interlock"); err != nil {
		return false, err
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "search\tresult\tseconds before\tafter\tratio\t")
	passes = true
	selected := selection(quick)
	for n, search := range selected {
		fmt.Fprintf(os.Stderr, "%d of %d: %s\n", n+1, len(selected), search)
		row, ratio, same, err := comparePairs(old, present, strings.Fields(search), pairs, slowest)
		if err != nil {
			return false, err
		}
		passes = passes && same && (slowest == 0 || ratio <= slowest)
		fmt.Fprintf(table, "%s\t%s\t\n", search, row)
	}
	return passes, table.Flush()
}

// selection returns the arguments of the searches to run.
func selection(quick bool) (selected []string) {
	for _, s := range searches {
		switch {
		case !quick:
			selected = append(selected, s.arguments)
		case s.quick != "":
			selected = append(selected, s.arguments+" "+s.quick)
		}
	}
	return selected
}

// comparePairs runs pairs of one search and returns a row of the table.
func comparePairs(old, present string, search []string, pairs int, slowest float64) (row string,
	ratio float64, same bool, err error,
) {
	var before, after, ratios []float64
	result := "the same"
	for n := range pairs {
		if n >= pairsMin && ratio <= slowest {
			break
		}
		first, a, err := check(old, search)
		if err != nil {
			return "", 0, false, err
		}
		second, b, err := check(present, search)
		if err != nil {
			return "", 0, false, err
		}
		if first != second {
			result = fmt.Sprintf("%s, then %s", first, second)
		}
		before, after = append(before, a.Seconds()), append(after, b.Seconds())
		ratios = append(ratios, b.Seconds()/a.Seconds())
		ratio = median(ratios)
	}
	row = fmt.Sprintf("%s\t%.2f\t%.2f\t%.3f", result, median(before), median(after), ratio)
	return row, ratio, result == "the same", nil
}

// outcome matches what a search reports that depends on the machine in no way.
var outcome = regexp.MustCompile(`(?m)^ran \d+ schedules: \d+ steps, \d+ [a-z ]*states|` +
	`^trace digest \w+|^VIOLATION.*|\d+ local histories`)

// check runs one search, and returns what it found and the processor time that it took.
func check(program string, search []string) (found string, taken time.Duration, err error) {
	c := exec.Command(program, append([]string{"check"}, search...)...)
	output, err := c.Output()
	if c.ProcessState == nil || c.ProcessState.ExitCode() > 1 && len(output) == 0 {
		return "", 0, fmt.Errorf("%v: %w", c.Args, err)
	}
	found = strings.Join(outcome.FindAllString(string(output), -1), ", ")
	if found == "" {
		return "", 0, fmt.Errorf("%v: no result in the output", c.Args)
	}
	return found, c.ProcessState.UserTime() + c.ProcessState.SystemTime(), nil
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// run runs a command, and returns its output as an error if it fails.
func run(directory, name string, arguments ...string) error {
	c := exec.Command(name, arguments...)
	c.Dir = directory
	if output, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(arguments, " "), err, output)
	}
	return nil
}
