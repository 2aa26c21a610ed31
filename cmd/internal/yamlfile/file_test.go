package yamlfile_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/yamlfile"
)

type plan struct {
	Number *int     `yaml:"number"`
	Seed   uint64   `yaml:"seed"`
	Texts  []string `yaml:"texts"`
	Source *yamlfile.File
	Inner  []struct {
		Name string `yaml:"name"`
	} `yaml:"inner"`
}

// An error names the line, and describes a value of a wrong type without Go's types.
func TestErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.yaml")
	for content, want := range map[string]string{
		"\nnumber: x":                    `2: "x" where a number belongs`,
		"number: 99999999999999999999":   "1: 9999999... is too large a number",
		"number: \"a\\nb\"":              `1: "a\nb" where a number belongs`,
		"number: {}":                     "1: a mapping where a number belongs",
		"seed: -1":                       "1: -1 where a number from 0 on belongs",
		"texts: x":                       `1: "x" where a list belongs`,
		"texts: [[]]":                    "1: a list where a text belongs",
		"texts: []\nnumber: 1\nother: 2": "3: unknown field other",
		"text: []":                       "1: unknown field text: did you mean texts?",
		"inner: [{nam: x}]":              "1: unknown field nam: did you mean name?",
		"5":                              "1: 5 where a mapping of keys to values belongs",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := yamlfile.Read(path, new(plan), "texts")
		if err == nil || strings.TrimPrefix(err.Error(), path+":") != want {
			t.Errorf("%q: %v, want %s", content, err, want)
		}
	}
}
