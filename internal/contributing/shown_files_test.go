package contributing_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A page that shows a file, below a marker of docs/output.go, shows the file as it is.
func TestShownFiles(t *testing.T) {
	shown := 0
	for of, page := range documentation(t) {
		for path, block := range shownFiles(page) {
			content, err := os.ReadFile(filepath.Join(module, path))
			if err != nil {
				t.Errorf("%s: %v", of, err)
			} else if block != string(content) {
				t.Errorf("%s shows another %s: run make docs", of, path)
			}
			shown++
		}
	}
	if shown < 5 {
		t.Errorf("%d files are shown", shown)
	}
}

// shownFiles returns the blocks of a page that show a file, by its path.
func shownFiles(page string) map[string]string {
	found := make(map[string]string)
	for _, rest := range strings.Split("\n"+page, "\n<!-- file ")[1:] {
		path, rest, _ := strings.Cut(rest, " -->\n")
		_, block, _ := strings.Cut(rest, "\n")
		block, _, _ = strings.Cut("\n"+block, "\n```")
		found[path] = strings.TrimPrefix(block, "\n") + "\n"
	}
	return found
}

// A block that lacks a line, or whose file is another, is told from the file.
func TestShownFilesOfAPage(t *testing.T) {
	page := "text\n<!-- file a.go -->\n```go\none\n\ntwo\n```\n\n<!-- file b.sql -->\n```sql\nthree\n```\n"
	got := shownFiles(page)
	if len(got) != 2 || got["a.go"] != "one\n\ntwo\n" || got["b.sql"] != "three\n" {
		t.Errorf("%q", got)
	}
}
