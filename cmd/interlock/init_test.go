package main

import (
	"bytes"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// These match what init says to remove or to put in, in the order of the file.
var (
	firstLine     = regexp.MustCompile(`(?m)(^func interlockScenario.*\n).*\n`)
	presetComment = regexp.MustCompile(`(?ms)^\t+// (Claims: history\.\w+\(\),\n)(\t+Claims: .*?\},\n)`)
	claimComment  = regexp.MustCompile(`(?m)^(\t+)// (history\.\w+,)$`)
	emptySchema   = regexp.MustCompile("`` /\\*.*\\*/")
	mutexComment  = regexp.MustCompile(`(?m)^\t// (lock := .*\n)\t// (return scenarios\.Mutex.*\n)`)
	lossComment   = regexp.MustCompile(
		`(?s)\t// (lock := [^\n]*\n).*import context, and.*\n(\t// return scenarios\.LockerFunc.*nil\n)`)
	noLock = regexp.MustCompile(`(?m)^\treturn nil, nil .*\n`)
)

// instructed returns the tests that a user makes by the comments of the test that init has written:
// with some claims, with all, with the preset and a lock that reports its loss.
func instructed(t *testing.T, content string) map[string]string {
	for _, r := range []*regexp.Regexp{firstLine, presetComment, mutexComment, lossComment, noLock} {
		if !r.MatchString(content) {
			t.Fatalf("no %v in\n%s", r, content)
		}
	}
	content = noLock.ReplaceAllString(firstLine.ReplaceAllString(content, "$1"), "")
	content = emptySchema.ReplaceAllString(content, "`\nCREATE TABLE locks (name TEXT)`")
	simple := mutexComment.ReplaceAllString(content, "\t$1\t$2") + `
type simpleLock struct{}

func (simpleLock) Lock() error   { return nil }
func (simpleLock) Unlock() error { return nil }

func NewLock(any, string) (l simpleLock) { return l }
`
	some := simple
	for _, claim := range []string{"Progress", "ClientMutualExclusion", "Quiescence"} {
		some = strings.Replace(some, "// history."+claim+",", "history."+claim+",", 1)
	}
	losing := lossComment.FindStringSubmatch(content)
	lock := "\t" + losing[1] + strings.ReplaceAll(losing[2], "\t// ", "\t")
	lossy := strings.Replace(content, losing[0], lock, 1)
	lossy = strings.Replace(lossy, "\t\"testing\"", "\t\"context\"\n\t\"testing\"", 1)
	if strings.Contains(lossy, "\t\"database/sql\"") { // The imports are sorted.
		lossy = strings.Replace(lossy, "\t\"context\"\n", "", 1)
		lossy = strings.Replace(lossy, "\t\"database", "\t\"context\"\n\t\"database", 1)
	}
	return map[string]string{
		"some": some, "all": claimComment.ReplaceAllString(simple, "$1$2"),
		"preset": presetComment.ReplaceAllString(lossy, "\t\t\t$1") + `
type lossyLock struct{}

func (lossyLock) Lock(context.Context) (<-chan struct{}, error) { return nil, nil }
func (lossyLock) Unlock(context.Context) error                  { return nil }

func NewLock(any, string) (l lossyLock) { return l }
`,
	}
}

// Each test that init writes compiles in another module: as it is, and once its instructions are
// followed. gofmt leaves all as they are.
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
		tests := instructed(t, string(content))
		if n := len(kind.Claims()); n < 6 || strings.Count(tests["all"], "\n\t\t\t\thistory.") != n ||
			strings.Count(tests["some"], "\n\t\t\t\thistory.") != 3 {
			t.Errorf("%s offers %v", name, kind.Claims())
		}
		for how, text := range tests {
			if formatted, err := format.Source([]byte(text)); err != nil || string(formatted) != text {
				t.Errorf("%s %s: error %v, gofmt makes\n%s\nof\n%s", name, how, err, formatted, text)
			}
			m.write(t, filepath.Join(name+"_"+how, firstTestName), text)
		}
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
