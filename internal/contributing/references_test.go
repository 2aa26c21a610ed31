package contributing_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/history/check"
)

// The references have a row for every kind of fault and every property.
func TestReferencesAreComplete(t *testing.T) {
	pages := documentation(t)
	for k := range faults.Kinds {
		if !hasRow(pages["docs/faults.md"], k.String()) {
			t.Errorf("docs/faults.md: add a row for `%v` to the table of kinds", k)
		}
	}
	for _, p := range check.Claimable() {
		if !hasRow(pages["docs/properties.md"], string(p)) {
			t.Errorf("docs/properties.md: add a row for `%s` to the first table", p)
		}
	}
}

// docs/faults.md lists the kinds of faults that "any" in a plan does not cover.
func TestKindsByNameOnly(t *testing.T) {
	var want []string
	for k := range faults.Kinds {
		want = append(want, k.String())
	}
	for k := range faults.AnyKinds {
		want = slices.DeleteFunc(want, func(name string) bool { return name == k.String() })
	}
	page := documentation(t)["docs/faults.md"]
	var got []string
	for _, name := range regexp.MustCompile("`([a-z-]+)`\\\\\\*").FindAllStringSubmatch(page, -1) {
		got = append(got, name[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("docs/faults.md marks %q as kinds that `any` does not stand for, not %q", got, want)
	}
}

// docs/faults.md lists the kinds of faults that each other group covers.
func TestGroupsOfKinds(t *testing.T) {
	page := documentation(t)["docs/faults.md"]
	for group := range faults.Groups {
		if group == faults.Any {
			continue
		}
		_, row, found := strings.Cut(page, "\n| `"+group.String()+"` | ")
		row, _, _ = strings.Cut(row, "\n")
		for kind := range faults.Kinds {
			if strings.Contains(row, "`"+kind.String()+"`") != group.Covers(kind) || !found {
				t.Errorf("docs/faults.md: is `%v` one of the kinds of `%v`?", kind, group)
			}
		}
	}
}

// hasRow reports whether a name is in the first column of a table of a page.
func hasRow(page, name string) bool {
	for line := range strings.Lines(page) {
		first, _, isRow := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		if isRow && strings.HasPrefix(line, "|") && strings.Contains(first, "`"+name+"`") {
			return true
		}
	}
	return false
}
