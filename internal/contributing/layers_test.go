package contributing_test

import (
	"cmp"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/interlock-sim/interlock/"

// Imports go downward only: a package imports those of its own entry in the table of docs/design.md,
// those to the left in its row, and those of rows above.
func TestLayers(t *testing.T) {
	for _, complaint := range readLayers(t).upward(t, packages(t)) {
		t.Error(complaint)
	}
}

// An import that leads upward is found.
func TestLayersRefuse(t *testing.T) {
	layers := readLayers(t)
	for of, imported := range map[string]string{
		"simzk": "internal/run/engine", "history": "history/check", "sim": "sim/simredis",
		"internal/run/engine": ".", "internal/base/file": "scenarios",
	} {
		want := of + " imports " + imported + ", which is not above it in docs/design.md"
		got := layers.upward(t, map[string][]string{of: {imported}})
		if !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// upward returns a complaint for each import that leads upward.
func (l layers) upward(t *testing.T, packages map[string][]string) (complaints []string) {
	t.Helper()
	for of, imports := range packages {
		own := l.of(t, of)
		for _, imported := range imports {
			if l.of(t, imported) > own {
				complaints = append(complaints,
					of+" imports "+imported+", which is not above it in docs/design.md")
			}
		}
	}
	return complaints
}

// layers holds the entries of the table, in its order: folders, or ".", the root of the module.
type layers []string

// readLayers reads the first column of the table.
func readLayers(t *testing.T) (found layers) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(module, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(page)) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		switch {
		case strings.HasPrefix(line, "| the root of the module |"):
			found = append(found, ".")
		case strings.HasPrefix(line, "| `"):
			for _, entry := range regexp.MustCompile("`([^`]*)/`").FindAllStringSubmatch(first, -1) {
				found = append(found, entry[1])
			}
		}
	}
	return found
}

// of returns the position of the entry that a package belongs to: the longest of its folders.
func (l layers) of(t *testing.T, folder string) int {
	t.Helper()
	for at := folder; ; at = path.Dir(at) {
		if i := slices.Index(l, at); i >= 0 && (at != "." || folder == ".") {
			return i
		}
		if at == "." {
			t.Fatalf("docs/design.md has no entry for %s", folder)
		}
	}
}

// packages returns the imports of each package of the modules within them, without tests.
func packages(t *testing.T) map[string][]string {
	t.Helper()
	c := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "work")
	c.Dir = module
	output, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	found := map[string][]string{}
	for line := range strings.Lines(string(output)) {
		if len(strings.Fields(line)) == 1 { // Only doc.go.
			continue
		}
		var folders []string
		for _, imported := range strings.Fields(line) {
			if folder, ok := strings.CutPrefix(imported+"/", modulePath); ok {
				folders = append(folders, cmp.Or(strings.TrimSuffix(folder, "/"), "."))
			}
		}
		found[folders[0]] = folders[1:]
	}
	return found
}

// Only the work queue knows NATS, and in tests the server that they start.
func TestNATSInOnePackage(t *testing.T) {
	c := exec.Command("go", "list", "-f",
		"{{.ImportPath}}:{{join .Imports \" \"}} {{join .TestImports \" \"}}", "work")
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
	if want := []string{"cmd/internal/testkit/natstest", "cmd/internal/workqueue"}; !slices.Equal(found, want) {
		t.Errorf("%q import NATS, not %q", found, want)
	}
}
