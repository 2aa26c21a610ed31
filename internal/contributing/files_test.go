package contributing_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Files are written by package file, which replaces them as a whole. The packages below have a
// reason to do it themselves.
func TestFilesAreWrittenInOnePackage(t *testing.T) {
	reasons := map[string]string{
		"internal/base/file":                        "the package itself",
		"internal/run/gobuild":                      "a temporary directory, and copies by their hash",
		"internal/tools/mutation":                   "a temporary directory",
		"internal/tools/chaos":                      "histories that grow",
		"internal/run/flightrecorder":               "mapped into memory",
		"cmd/internal/judge/hunt/directory_lock.go": "a lock, not a content",
		"cmd/internal/server/request_log.go":        "a log that grows",
		"cmd/interlock/test.go":                     "a temporary file",
		"cmd/internal/judge/certify/tests.go":       "a temporary file",
		"verdict.go":                                "lines that processes append to a temporary file",
		"cmd/internal/testkit/natstest":             "keys of a test",
		"simzk/conform":                             "servers in a temporary directory",
		"simzk/tcp/fleet.go":                        "a mark in the directory of a server",
		"docs/output.go":                            "a temporary directory",
	}
	writes := regexp.MustCompile(`os\.(Create|CreateTemp|WriteFile|Rename)\(|os\.O_CREATE`)
	used := make(map[string]bool)
	err := filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") ||
			strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil || !writes.Match(content) {
			return err
		}
		name, err := filepath.Rel(module, path)
		for of := name; of != "."; of = filepath.Dir(of) {
			if reasons[of] != "" {
				used[of] = true
				return err
			}
		}
		t.Errorf("%s writes a file without package file", name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for of := range reasons {
		if !used[of] {
			t.Errorf("%s writes no file", of)
		}
	}
}
