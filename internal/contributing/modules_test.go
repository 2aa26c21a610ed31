package contributing_test

import (
	"archive/zip"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/testkit/long"
)

// modules returns the folders of the modules that go.work names, the root first.
func modules(t *testing.T) (folders []string) {
	t.Helper()
	var work struct{ Use []struct{ DiskPath string } }
	text := run(t, module, 0, "go", "work", "edit", "-json")
	if err := json.Unmarshal([]byte(text), &work); err != nil {
		t.Fatal(err)
	}
	for _, use := range work.Use {
		folders = append(folders, filepath.Clean(use.DiskPath))
	}
	return folders
}

// The modules of go.work are those of the table in docs/design.md, and no other go.mod exists.
func TestModules(t *testing.T) {
	used := modules(t)
	page, err := os.ReadFile(filepath.Join(module, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| module | requires |\n|---|---|\n| the root |")
	table, _, _ = strings.Cut(table, "\n\n")
	listed := []string{"."}
	for line := range strings.Lines(table) {
		if first, found := strings.CutPrefix(line, "| "); found {
			listed = append(listed, strings.TrimSpace(first[:strings.Index(first, "|")]))
		}
	}
	var found []string
	err = filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "go.mod" && !strings.Contains(path, "testdata") {
			folder, _ := filepath.Rel(module, filepath.Dir(path))
			found = append(found, folder)
		}
		return err
	})
	slices.Sort(listed)
	slices.Sort(found)
	if err != nil || !slices.Equal(used, found) || !slices.Equal(used, listed) {
		t.Errorf("go.work names %q, docs/design.md %q; modules are %q, error %v", used, listed,
			found, err)
	}
}

// The root module requires what every user gets. Another requirement needs a reason that stands
// here, and the lowest version that works.
func TestRootRequires(t *testing.T) {
	reasons := map[string]string{
		"github.com/KimMachineGun/automemlimit": "the memory that a search may use",
		"github.com/anishathalye/porcupine":     "linearizability",
		"github.com/cespare/xxhash/v2":          "hashes of histories and states",
		"github.com/cockroachdb/datadriven":     "scripts in tests of simzk",
		"github.com/go-zookeeper/zk":            "the client of package lock",
		"pgregory.net/rapid":                    "interlock.CheckRapid",
		"github.com/pbnjay/memory":              "automemlimit",
		"github.com/pmezard/go-difflib":         "datadriven",
	}
	var mod struct{ Require []struct{ Path string } }
	text := run(t, module, 0, "go", "mod", "edit", "-json")
	if err := json.Unmarshal([]byte(text), &mod); err != nil {
		t.Fatal(err)
	}
	for _, required := range mod.Require {
		if reasons[required.Path] == "" {
			t.Errorf("the root module requires %s", required.Path)
		}
	}
}

// The command can be installed from modules that are published as docs/releases.md says, and then
// tests a user's module that requires none of them.
func TestRelease(t *testing.T) {
	long.Only(t) // It builds the command.
	const version = "v0.0.0-test"
	root, proxy, bin := filepath.Join(t.TempDir(), "interlock"), t.TempDir(), t.TempDir()
	copyModule(t, root)
	script := filepath.Join(root, "internal", "tools", "release", "versions.sh")
	write(t, script, readFile(t, filepath.Join(module, "internal", "tools", "release",
		"versions.sh")))
	run(t, root, 0, "bash", script, version)
	for _, folder := range modules(t) {
		if folder != "cmd" {
			publish(t, proxy, root, folder, version)
		}
	}
	env := strings.Fields(run(t, root, 0, "go", "env", "GOPROXY", "GOMODCACHE"))
	t.Cleanup(func() { removeFromCache(t, env[1], version) })
	for name, value := range map[string]string{
		"GOPROXY": "file://" + proxy + "," + env[0], "GOBIN": bin, "GOWORK": "off",
		"GONOSUMDB": strings.TrimSuffix(modulePath, "/"), "GOFLAGS": "-modcacherw",
	} {
		t.Setenv(name, value)
	}
	run(t, root, 0, "bash", script, version, "command")
	publish(t, proxy, root, "cmd", version)
	run(t, t.TempDir(), 0, "go", "install", modulePath+"cmd/interlock@"+version)

	user := t.TempDir()
	write(t, filepath.Join(user, "go.mod"), []byte("module example.org/user\n\ngo 1.26.0\n"))
	write(t, filepath.Join(user, "lock_test.go"), readFile(t, filepath.Join("testdata",
		"user_test.go.txt")))
	printed := run(t, user, 0, filepath.Join(bin, "interlock"), "test", "-v", "--schedules", "50")
	if !strings.Contains(printed, "nothing found in 50 schedules") {
		t.Errorf("interlock test prints\n%s", printed)
	}
}

// removeFromCache removes the files of a version of Interlock's modules from the module cache. A
// cache of its own would make the test compile all that the command requires.
func removeFromCache(t *testing.T, cache, version string) {
	for _, below := range []string{cache, filepath.Join(cache, "cache", "download")} {
		top := filepath.Join(below, filepath.Dir(filepath.FromSlash(modulePath)))
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case strings.HasSuffix(path, "@"+version):
				return cmp.Or(os.RemoveAll(path), fs.SkipDir)
			case strings.HasPrefix(d.Name(), version+"."):
				return os.Remove(path)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// publish adds a module to a directory that the go command takes for a proxy.
func publish(t *testing.T, proxy, root, folder, version string) {
	t.Helper()
	path := strings.TrimSuffix(modulePath+strings.TrimPrefix(folder, "."), "/")
	at := filepath.Join(proxy, path, "@v", version)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, at+".mod", readFile(t, filepath.Join(root, folder, "go.mod")))
	write(t, at+".info", []byte(`{"Version": "`+version+`"}`))
	write(t, filepath.Join(filepath.Dir(at), "list"), []byte(version+"\n"))
	archive, err := os.Create(at + ".zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := zip.NewWriter(archive)
	top := filepath.Join(root, folder)
	err = filepath.WalkDir(top, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && file != top {
			if _, none := os.Stat(filepath.Join(file, "go.mod")); none == nil {
				return fs.SkipDir // another module
			}
		}
		if err != nil || d.IsDir() {
			return err
		}
		within, _ := filepath.Rel(top, file)
		f, err := files.Create(path + "@" + version + "/" + filepath.ToSlash(within))
		if err == nil {
			_, err = f.Write(readFile(t, file))
		}
		return err
	})
	if err == nil {
		err = files.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
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
