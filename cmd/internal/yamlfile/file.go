// Package yamlfile reads plans: YAML files without unknown keys, whose errors name the file and the
// line.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/interlock-sim/interlock/internal/base/unknown"
)

// A File is a YAML file that was read.
type File struct {
	Path string
	root yaml.Node
}

// Read reads a plan into a value. Keys that the value does not have are errors. Needs says what a
// plan needs, for the error of an empty one.
func Read(path string, into any, needs string) (*File, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &File{Path: path}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	switch err := decoder.Decode(into); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: the plan is empty: it needs %s", path, needs)
	case err != nil:
		return nil, f.syntax(err, into)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: a plan is one YAML document, and this file has more", path)
	}
	if err := yaml.Unmarshal(content, &f.root); err != nil {
		return nil, f.syntax(err, into)
	}
	return f, nil
}

var (
	lineOf = regexp.MustCompile(`(?s)line (\d+): (.*)`)
	absent = regexp.MustCompile(`^field (\S+) not found in type (.*)$`)
	// mistyped matches the error of a value that has another type than the plan's: the type, the
	// value unless it is a list or a mapping, and the Go type.
	mistyped = regexp.MustCompile("(?s)^cannot unmarshal !!(\\w+)(?: `(.*)`)? into (\\S+)$")
)

// keys returns the keys of the struct with the name, which is t or in it, or nil.
func keys(t reflect.Type, name string) (names []string) {
	switch {
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice:
		return keys(t.Elem(), name)
	case t.Kind() != reflect.Struct:
		return nil
	}
	for field := range t.Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if key == "" { // It may be of a recursive type.
			continue
		}
		if t.String() == name {
			names = append(names, key)
		} else if inner := keys(field.Type, name); inner != nil {
			return inner
		}
	}
	return names
}

// inTermsOfYAML returns an error of the YAML library without Go's types. The value that was to be
// read into has the type.
func inTermsOfYAML(text string, plan reflect.Type) string {
	if parts := absent.FindStringSubmatch(text); parts != nil {
		hint := ""
		if like := unknown.Alike(parts[1], keys(plan, parts[2])); like != nil {
			hint = ": did you mean " + strings.Join(like, " or ") + "?"
		}
		return "unknown field " + parts[1] + hint
	}
	parts := mistyped.FindStringSubmatch(text)
	if parts == nil {
		return text
	}
	given := parts[2]
	switch parts[1] {
	case "seq":
		given = "a list"
	case "map":
		given = "a mapping"
	case "str":
		given = strconv.Quote(given)
	}
	integer := strings.HasPrefix(strings.TrimLeft(parts[3], "*"), "int")
	if (parts[1] == "int" || parts[1] == "float") && integer {
		return given + " is too large a number" // The library rounds a fraction.
	}
	return given + " where " + typeInYAML(parts[3]) + " belongs"
}

// typeInYAML names a Go type as users of YAML do.
func typeInYAML(name string) string {
	name = strings.TrimLeft(name, "*")
	switch {
	case strings.HasPrefix(name, "[]"):
		return "a list"
	case strings.HasPrefix(name, "uint"):
		return "a number from 0 on"
	case strings.HasPrefix(name, "int"):
		return "a number"
	case name == "bool":
		return "true or false"
	case name == "time.Duration":
		return "a duration such as 10s"
	case name == "string", name == "history.Property":
		return "a text"
	}
	return "a mapping of keys to values"
}

// syntax returns an error of the YAML library with the file and the line in front.
func (f *File) syntax(err error, into any) error {
	text := err.Error()
	var wrong *yaml.TypeError
	if errors.As(err, &wrong) {
		text = wrong.Errors[0]
	}
	parts := lineOf.FindStringSubmatch(text)
	if parts == nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	return fmt.Errorf("%s:%s: %s", f.Path, parts[1], inTermsOfYAML(parts[2], reflect.TypeOf(into)))
}

// At returns an error with the file and the line of the value at a path of keys and indices or, if
// there is none, of the last value on the way. It returns nil for nil.
func (f *File) At(err error, path ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s:%d: %w", f.Path, f.Line(path...), err)
}

// Line returns the line of the value at a path, as for At.
func (f *File) Line(path ...any) int {
	node := f.root.Content[0]
	for _, step := range path {
		next := (*yaml.Node)(nil)
		if node.Kind == yaml.AliasNode {
			node = node.Alias
		}
		switch step := step.(type) {
		case int:
			next = node.Content[step]
		case string:
			for i := 0; i+1 < len(node.Content); i += 2 {
				if node.Content[i].Value == step {
					next = node.Content[i+1]
				}
			}
		}
		if next == nil {
			break
		}
		node = next
	}
	return node.Line
}
