package site_test

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/show/explore/site"
	"github.com/interlock-sim/interlock/internal/run/engine"
	"github.com/interlock-sim/interlock/internal/show/explore"
	"github.com/interlock-sim/interlock/sim"
)

// The page reads only fields that the server writes.
func TestTypeScript(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "..", "internal", "show", "page",
		"web", "src", "explore", "api.ts"))
	if err != nil {
		t.Fatal(err)
	}
	written := make(map[string]map[string]bool) // the fields of each type
	for name, of := range map[string]reflect.Type{
		"Path": reflect.TypeFor[explore.Path](), "Deviation": reflect.TypeFor[engine.Deviation](),
		"Scenario": reflect.TypeFor[site.Scenario](), "State": reflect.TypeFor[explore.State](),
		"Taken": reflect.TypeFor[explore.Taken](), "Choice": reflect.TypeFor[explore.Choice](),
		"Inspection": reflect.TypeFor[sim.Inspection](), "Saved": reflect.TypeFor[explore.Saved](),
		"Key": reflect.TypeFor[sim.Key](),
	} {
		written[name] = make(map[string]bool)
		for _, f := range reflect.VisibleFields(of) {
			field, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if strings.Contains(options, "omit") {
				field += "?"
			}
			written[name][field] = true
		}
	}
	body := regexp.MustCompile(`(?s)export interface (\w+)[\w ]* \{(.*?)\n\}`)
	field := regexp.MustCompile(`(?m)^  (\w+\??):`)
	declared := body.FindAllStringSubmatch(string(content), -1)
	if len(declared) != len(written) {
		t.Errorf("api.ts declares %d types, want %d", len(declared), len(written))
	}
	for _, match := range declared {
		for _, name := range field.FindAllStringSubmatch(match[2], -1) {
			if !written[match[1]][name[1]] {
				t.Errorf("%s has no field %s", match[1], name[1])
			}
		}
	}
}
