package main

import (
	"fmt"
	"path/filepath"
	"testing"
)

// A file of defects is read, and a line that does not belong in it is reported with its place.
func TestParse(t *testing.T) {
	const entry = "package p T\ntest T/a b\nhangs\nin f.go\n-old\n+new\n same\n"
	for _, tc := range []struct{ content, want string }{
		{
			entry + "\ncontrol C\n",
			`[{d:2 {p T} test T/a b true false [{d:4 f.go "old\nsame\n" "new\nsame\n"}]} ` +
				`{d:9 {p T} control C false false []}]`,
		},
		{"test T\n", `d:1: "test T" precedes the first package`},
		{"package p\nquick\n", `d:2: "quick" precedes the first defect`},
		{entry + "\n-old\n", `d:9: "-old" is neither a keyword nor part of an edit`},
		{
			"package p\ntest T\n",
			"d:2: a control must have no edits, and every other entry at least one",
		},
	} {
		defects, err := parse("d", tc.content)
		got := describe(defects)
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%q:\n%s, want\n%s", tc.content, got, tc.want)
		}
	}
}

func describe(defects []defect) string {
	var texts []string
	for _, d := range defects {
		var edits []string
		for _, e := range d.edits {
			edits = append(edits, fmt.Sprintf("{%s %s %q %q}", e.at, e.file, e.old, e.new))
		}
		texts = append(texts, fmt.Sprintf("{%s %v %s %s %v %v %v}", d.at, d.suite, d.kind, d.name,
			d.hangs, d.quick, edits))
	}
	return fmt.Sprint(texts)
}

// The old lines of each edit occur once in the source.
func TestEditsApply(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", ".."))
	for _, file := range []string{lockDefects, searchDefects, zookeeperDefects} {
		defects, err := read(file)
		if err != nil || len(defects) == 0 {
			t.Errorf("%s: %d defects, error %v", file, len(defects), err)
		}
		for _, d := range defects {
			if _, err := d.overlay(t.TempDir()); err != nil {
				t.Error(err)
			}
		}
	}
}
