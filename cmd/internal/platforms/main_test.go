package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What one platform lacks is an error on that platform, in packages and in their tests.
func TestCheck(t *testing.T) {
	t.Setenv("GOWORK", "off")
	directory := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":       "module example.org/signals\n\ngo 1.26\n",
		"stop.go":      "package signals\n\nimport \"syscall\"\n\nconst Stop = syscall.SIGSTOP\n",
		"stop_test.go": "package signals\n\nimport \"syscall\"\n\nvar kill = syscall.Kill\n",
	} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for platform, wants := range map[string][]string{
		"linux/arm64":   nil,
		"windows/amd64": {"undefined: syscall.SIGSTOP", "undefined: syscall.Kill"},
	} {
		found, err := check(platform, directory, "./...")
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, e := range found {
			text.WriteString(e.Error() + "\n")
		}
		for _, want := range wants {
			if !strings.Contains(text.String(), want) {
				t.Errorf("%s: no %q in\n%s", platform, want, &text)
			}
		}
		if len(wants) == 0 && len(found) > 0 {
			t.Errorf("%s:\n%s", platform, &text)
		}
	}
}
