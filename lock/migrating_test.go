package lock_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// docs/migrating.md shows the code of the examples, from the call of Dial on, and says how many
// lines it has beside the original.
func TestMigratingPage(t *testing.T) {
	page, err := os.ReadFile("../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("migrating_example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{
		"Mutex_Lock_etcd": "lock", "Mutex_TryLock_etcd": "try",
		"Election_Campaign_etcd": "election", "Mutex_Do_redsync": "write-under-a-lock",
	}
	for _, example := range exampleBodies.FindAllStringSubmatch(string(source), -1) {
		section := sections[example[1]]
		delete(sections, example[1])
		code := strings.ReplaceAll("\n"+example[2], "\n\t", "\n")[1:]
		if block := "```go\n" + code + "```\n"; !strings.Contains(string(page), block) {
			t.Errorf("the page lacks %s:\n%s", example[1], block)
		}
		lines := 0
		for line := range strings.SplitSeq(code, "\n") {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines++
			}
		}
		theirs, ours := 0, 0
		pattern := `(?m)^\| .*\(#` + section + `\) \|.* \| (\d+) \| (\d+) \|$`
		row := regexp.MustCompile(pattern).FindStringSubmatch(string(page))
		if row == nil {
			t.Errorf("the page has no row for %s", example[1])
			continue
		}
		fmt.Sscan(row[1], &theirs)
		fmt.Sscan(row[2], &ours)
		if ours != lines || ours > theirs {
			t.Errorf("%s has %d lines; the page says %d, and %d for the original", example[1], lines,
				ours, theirs)
		}
	}
	if len(sections) > 0 {
		t.Errorf("there are no examples for %v", sections)
	}
}

// exampleBodies matches an example: its name, and its code from the call of Dial on.
var exampleBodies = regexp.MustCompile(
	`(?s)func Example(\w+)\(\) \{.*?(\tsession, err := lock\.Dial.*?)\t// Output`)
