package contributing_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// wordBudgets are limits on the words of the documentation, as function words counts them.
type wordBudgets struct {
	total      int            // of README.md and docs/, without docs/internals/
	internals  int            // of docs/internals/
	page       int            // the highest budget in pages
	pages      map[string]int // by path
	references map[string]int // by path: of pages to look things up in, or with proofs
}

// The pages stay within the budgets of words, and each page has one.
func TestWords(t *testing.T) {
	counts := map[string]int{}
	for path, text := range documentation(t) {
		counts[path] = words(text)
	}
	for _, complaint := range budgets.words.exceeded(counts) {
		t.Error(complaint)
	}
	if t.Failed() {
		t.Log(overBudget)
	}
}

// exceeded returns a complaint for each budget that the counts of words exceed, and for each page
// without a budget.
func (b *wordBudgets) exceeded(counts map[string]int) (complaints []string) {
	complain := func(format string, arguments ...any) {
		complaints = append(complaints, fmt.Sprintf(format, arguments...))
	}
	total, internals := 0, 0
	for _, path := range slices.Sorted(maps.Keys(counts)) {
		count := counts[path]
		if strings.HasPrefix(path, "docs/internals/") {
			internals += count
		} else {
			total += count
		}
		budget := cmp.Or(b.pages[path], b.references[path])
		switch {
		case count > 0 && budget == 0:
			complain("%s has no budget", path)
		case count > budget:
			complain("%s has %d words, more than %d", path, count, budget)
		case b.pages[path] > b.page:
			complain("the budget of %s is higher than %d: it is no reference", path, b.page)
		}
	}
	if total > b.total {
		complain("README.md and docs/ have %d words, more than %d", total, b.total)
	}
	if internals > b.internals {
		complain("docs/internals/ has %d words, more than %d", internals, b.internals)
	}
	for _, pages := range []map[string]int{b.pages, b.references} {
		for _, path := range slices.Sorted(maps.Keys(pages)) {
			if counts[path] == 0 {
				complain("%s has a budget, and no words", path)
			}
		}
	}
	return complaints
}

// Each complaint occurs.
func TestWordsExceeded(t *testing.T) {
	limits := wordBudgets{
		total: 100, internals: 10, page: 60,
		pages:      map[string]int{"README.md": 40, "docs/internals/a.md": 20},
		references: map[string]int{"docs/b.md": 70},
	}
	for name, test := range map[string]struct {
		counts map[string]int
		want   []string
	}{
		"within": {map[string]int{"README.md": 30, "docs/b.md": 70, "docs/internals/a.md": 10}, nil},
		"a page": {
			map[string]int{"README.md": 41, "docs/b.md": 1, "docs/internals/a.md": 1},
			[]string{"README.md has 41 words, more than 40"},
		},
		"no budget, and a budget without a page": {
			map[string]int{"README.md": 1, "docs/c.md": 1, "docs/internals/a.md": 1},
			[]string{"docs/c.md has no budget", "docs/b.md has a budget, and no words"},
		},
		"total": {
			map[string]int{"README.md": 40, "docs/b.md": 61, "docs/internals/a.md": 1},
			[]string{"README.md and docs/ have 101 words, more than 100"},
		},
		"internals": {
			map[string]int{"README.md": 1, "docs/b.md": 1, "docs/internals/a.md": 11},
			[]string{"docs/internals/ has 11 words, more than 10"},
		},
	} {
		if got := limits.exceeded(test.counts); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	limits.pages["README.md"] = 61
	counts := map[string]int{"README.md": 1, "docs/b.md": 1, "docs/internals/a.md": 1}
	want := []string{"the budget of README.md is higher than 60: it is no reference"}
	if got := limits.exceeded(counts); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// words counts the words of a page: what white space separates and has a letter or a digit. Outputs
// of commands do not count: a page that a command has written, fenced blocks below a marker of
// docs/output.go, and those of the language console.
func words(page string) (count int) {
	if strings.HasPrefix(page, "<!-- Written by ") {
		return 0
	}
	fenced, output, marked := false, false, false
	for line := range strings.Lines(page) {
		if language, ok := strings.CutPrefix(line, "```"); ok {
			fenced = !fenced
			output = fenced && (marked || strings.TrimSpace(language) == "console")
		}
		marked = !fenced && (strings.HasPrefix(line, "<!-- $ ") || strings.HasPrefix(line, "<!-- file "))
		if output || marked {
			continue
		}
		for word := range strings.FieldsSeq(line) {
			if strings.ContainsFunc(word, func(r rune) bool {
				return unicode.IsLetter(r) || unicode.IsDigit(r)
			}) {
				count++
			}
		}
	}
	return count
}

func TestWordsOfAPage(t *testing.T) {
	for page, want := range map[string]int{
		"# One heading\n\n- a bullet – of six\n":                                  6,
		"| a | table |\n|---|---|\n| 3 | `x=1` |\n":                               4,
		"two words\n```sh\nand code\n```\n":                                       5,
		"two words\n```console\n$ go test\nok\n```\nand two\n":                    4,
		"one\n<!-- $ interlock bugs -->\n```\n$ interlock bugs\nmany\n```\ntwo\n": 2,
		"one\n<!-- file example_test.go -->\n```go\npackage p\n```\ntwo\n":        2,
		"<!-- Written by interlock report-card -->\n# Report card\n":              0,
	} {
		if got := words(page); got != want {
			t.Errorf("%d words, want %d:\n%s", got, want, page)
		}
	}
}

// documentation returns README.md and the pages below docs/, by their paths.
func documentation(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	read := func(path string) error {
		text, err := os.ReadFile(filepath.Join(module, path))
		pages[filepath.ToSlash(path)] = string(text)
		return err
	}
	if err := read("README.md"); err != nil {
		t.Fatal(err)
	}
	err := fs.WalkDir(os.DirFS(module), "docs", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		return read(path)
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}
