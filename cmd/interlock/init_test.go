package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// These match what init offers in comments: claims, a preset instead of their list, and the code
// for a lock that reports its loss, between the example's first line and the end.
var (
	claimComment  = regexp.MustCompile(`(?m)^(\t+)// (history\.\w+,)`)
	presetComment = regexp.MustCompile(
		`(?ms)^\t+// (Claims: history\.\w+\(\),\n)\t+Claims: .*?\},\n`)
	lossComment = regexp.MustCompile(
		`(?s)\t// For example:\n\t//   ([^\n]*\n).*lost:\n(.*?)\treturn nil, .*?\n`)
)

// claimingPreset returns the test with the preset and a lock that reports its loss.
func claimingPreset(t *testing.T, content string) string {
	if !presetComment.MatchString(content) || !lossComment.MatchString(content) {
		t.Fatalf("no preset or no example in\n%s", content)
	}
	content = presetComment.ReplaceAllString(content, "$1")
	content = lossComment.ReplaceAllString(content, "$1$2")
	content = strings.ReplaceAll(content, "\t//   ", "\t")
	return strings.Replace(content, "\t\"errors\"", "\t\"context\"", 1) + `
type lossyLock struct{}

func (lossyLock) Lock(context.Context) (<-chan struct{}, error) { return nil, nil }
func (lossyLock) Unlock(context.Context) error                  { return nil }

func NewLock(any, string) (l lossyLock) { return l }
`
}

// Each test that init writes compiles in another module: as it is, with every claim, and with the
// preset and a lock that reports its loss.
func TestInitCompiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	here, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	mod := string(readFile(t, filepath.Join(here, "cmd", "go.mod")))
	mod = strings.Replace(mod, "module "+interlockModule+"/cmd", "module example.org/user", 1)
	mod = strings.ReplaceAll(mod, "=> ../", "=> "+here+"/")
	m := &userModule{root}
	m.write(t, "go.mod", mod)
	m.write(t, "go.sum", string(readFile(t, filepath.Join(here, "cmd", "go.sum"))))
	for i := range lockKinds {
		kind := &lockKinds[i]
		f := &firstTest{lockKind: kind, Package: "lease", Name: "lease", File: firstTestName}
		content, err := f.source()
		if err != nil {
			t.Fatal(err)
		}
		name := kind.service + "_" + kind.shapes[0]
		m.write(t, filepath.Join(name, firstTestName), string(content))
		claiming := claimComment.ReplaceAllString(string(content), "$1$2")
		if strings.Count(claiming, "\thistory.") != len(kind.Claims()) || len(kind.Claims()) < 6 {
			t.Errorf("%s offers %v", name, kind.Claims())
		}
		m.write(t, filepath.Join(name+"_claiming", firstTestName), claiming)
		m.write(t, filepath.Join(name+"_preset", firstTestName),
			claimingPreset(t, string(content)))
	}
	vet := exec.Command("go", "vet", "-mod=mod", "./...")
	vet.Dir, vet.Env = root, append(os.Environ(), "GOWORK=off")
	if printed, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, printed)
	}
}

// Init supports seven combinations of a service and a shape, and refuses the others.
func TestInitKinds(t *testing.T) {
	supported := 0
	for _, service := range services() {
		for _, shape := range shapes("") {
			_, err := findKind(service, shape)
			if err == nil {
				supported++
			} else if !strings.Contains(err.Error(), "interface and client") {
				t.Error(err)
			}
		}
	}
	if supported != 7 {
		t.Errorf("%d combinations", supported)
	}
}

// The workflows that init prints are valid, and run interlock test with flags that exist.
func TestInitWorkflows(t *testing.T) {
	for _, name := range workflowNames() {
		var text bytes.Buffer
		if err := printWorkflow(&text, name, "testdata"); err != nil {
			t.Fatal(err)
		}
		if name == "github" {
			if problems := lintWorkflow(t, text.Bytes()); len(problems) > 0 {
				t.Errorf("%v", problems)
			}
		}
		if err := yaml.Unmarshal(text.Bytes(), new(map[string]any)); err != nil {
			t.Error(err)
		}
		_, command, ok := strings.Cut(text.String(), "- interlock test ")
		if name == "github" {
			_, command, ok = strings.Cut(text.String(), "- run: interlock test ")
		}
		line, _, _ := strings.Cut(command, "\n")
		flags := newTest().Flags()
		if err := flags.Parse(strings.Fields(line)); err != nil || !ok ||
			flags.Arg(0) != "./cmd/interlock/testdata" {
			t.Errorf("%s tests %q: %v", name, line, err)
		}
	}
}
