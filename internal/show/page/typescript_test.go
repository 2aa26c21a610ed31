package page_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/internal/show/page"
)

// The program declares the fields that package page writes, and reads its version of the data.
func TestTypeScript(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("web", "src", "data.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), "version = "+strconv.Itoa(page.Version)+";") {
		t.Errorf("data.ts is not of version %d", page.Version)
	}
	declared := make(map[string][]string) // the fields of each interface
	body := regexp.MustCompile(`(?s)export interface (\w+) \{(.*?)\n\}`)
	field := regexp.MustCompile(`(?m)^  (\w+\??):`)
	for _, match := range body.FindAllStringSubmatch(string(content), -1) {
		for _, name := range field.FindAllStringSubmatch(match[2], -1) {
			declared[match[1]] = append(declared[match[1]], name[1])
		}
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[page.Data](), reflect.TypeFor[page.About](), reflect.TypeFor[page.Lane](),
		reflect.TypeFor[page.Node](), reflect.TypeFor[page.Step](), reflect.TypeFor[page.Change](),
		reflect.TypeFor[page.ProcessState](), reflect.TypeFor[page.NodeState](),
		reflect.TypeFor[page.SessionState](), reflect.TypeFor[page.WatchState](),
		reflect.TypeFor[page.ServerState](), reflect.TypeFor[page.Violation](),
		reflect.TypeFor[page.Arrow](), reflect.TypeFor[page.Bar](), reflect.TypeFor[page.Stuck](),
		reflect.TypeFor[page.Likelihood](), reflect.TypeFor[page.Point](),
		reflect.TypeFor[page.Decision](),
	} {
		var written []string
		for f := range of.Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if strings.Contains(options, "omit") {
				name += "?"
			}
			written = append(written, name)
		}
		if !slices.Equal(declared[of.Name()], written) {
			t.Errorf("%s has the fields %q, and %q in data.ts", of.Name(), written,
				declared[of.Name()])
		}
	}
}
