package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/bundled"
	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/base/file"
	"github.com/interlock-sim/interlock/internal/show/recording"
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

func newRegress() *cobra.Command {
	packaged := ""
	command := &cobra.Command{
		Use:   "regress DIR",
		Short: "Write a Go test that replays a counterexample",
		Long: `Regress writes a test that fails as long as the schedule of the counterexample
in DIR violates a property. If a test of your own has found it, the new test
goes into the same package; if interlock test ran that in another module than
that of the current directory, --package names the package's directory. For a
bundled lock, the test goes with a copy of the counterexample into the package
of --package, by default the current directory; put your lock in the place of
the bundled one there.

An existing file with other contents is an error.`,
		Example: "  interlock regress interlock-failures/no-recheck-fifo-0123456789abcdef",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 1 {
				return fmt.Errorf("regress takes one counterexample directory, not %d arguments",
					len(arguments))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if cmd.Flags().Changed("package") && packaged == "" {
				return errors.New("--package needs a directory")
			}
			r, err := newRegression(cmd.Context(), arguments[0], packaged)
			if err != nil {
				return err
			}
			if err := r.write(); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "wrote %s\nrun   %s\n", r.path, r.command())
			return nil
		},
	}
	command.Flags().StringVar(&packaged, "package", "", "`directory` of the package for the test")
	return command
}

// A regression is a Go test that replays a counterexample.
type regression struct {
	directory string // of the package
	path      string // of the file
	source    string // the counterexample
	copied    bool   // the counterexample has to be copied
	built     bool   // interlock test builds the test that found it

	Package    string
	Constraint string // the build constraint of the test that found it, or ""
	Test       string
	Found      string // the test that found it, or "" for a bundled lock
	Artifact   string // the counterexample, relative to the package, with slashes
	Recording  *recording.Recording
	Real       bool
	Locks      string // the package of a bundled lock, below the root of Interlock's module
}

// LocksName returns the name of the package of a bundled lock.
func (r *regression) LocksName() string { return path.Base(r.Locks) }

// newRegression returns the test for the counterexample in a directory. An empty package is the one
// of the test that found it or, for a bundled lock, the current directory.
func newRegression(ctx context.Context, source, packaged string) (*regression, error) {
	if info, err := os.Stat(source); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not the directory of a counterexample", source)
	}
	recorded, err := recording.Read(source)
	if err != nil {
		return nil, err
	}
	if !recorded.Violates() {
		return nil, fmt.Errorf("%s records a schedule that violates nothing, so that no test of "+
			"it can fail", source)
	}
	r := &regression{
		source: source, Recording: recorded, Real: recorded.Client == scenarios.Real,
		Test: fmt.Sprintf("TestReplay%s_%s", camelCase(recorded.Lock), recorded.TraceHash),
	}
	if _, unknown := bundled.Named(recorded.Lock); unknown == nil {
		err = r.ofBundled(packaged)
	} else {
		err = r.ofOwn(ctx, packaged)
	}
	r.path = filepath.Join(r.directory, fmt.Sprintf("replay_%s_%s_test.go",
		snakeCase(recorded.Lock), recorded.TraceHash))
	return r, err
}

// ofBundled sets where the test of a bundled lock goes.
func (r *regression) ofBundled(packaged string) error {
	r.directory, r.copied = packaged, true
	r.Locks = "scenarios/subjects" // Package bundled would add clients to the user's module.
	if _, err := subjects.Named(r.Recording.Lock); err != nil {
		r.Locks = "cmd/bundled"
	}
	if packaged == "" {
		r.directory = "."
	}
	absolute, err := filepath.Abs(r.source)
	if err != nil {
		return err
	}
	r.Artifact = filepath.ToSlash(filepath.Join(recording.Corpus(r.Test),
		filepath.Base(absolute)))
	files, err := parseGo(r.directory)
	if err != nil {
		return fmt.Errorf("--package: %w", err)
	}
	if len(files) == 0 {
		return fmt.Errorf("no Go files in %s: --package must name the directory of the package "+
			"that gets the test", r.directory)
	}
	r.Package = strings.TrimSuffix(files[0].Name.Name, "_test") + "_test"
	return nil
}

// ofOwn sets where the test of a user's own lock goes: to the test that found it.
func (r *regression) ofOwn(ctx context.Context, packaged string) error {
	own, err := newOwnLock(r.source)
	switch {
	case errors.Is(err, recording.ErrBuilt):
		return r.ofBuilt(ctx, packaged)
	case err != nil:
		return err
	}
	r.directory, r.Artifact = own.packaged, filepath.ToSlash(own.test.Directory)
	if packaged != "" {
		asked, err := os.Stat(packaged)
		if err != nil {
			return fmt.Errorf("--package: %w", err)
		}
		if is, err := os.Stat(own.packaged); err != nil || !os.SameFile(asked, is) {
			return fmt.Errorf("--package: the test that found the counterexample is in %s",
				own.packaged)
		}
		r.directory = packaged
	}
	return r.beside(own.test.Name)
}

// ofBuilt sets where the test goes if interlock test ran the test that found the counterexample.
// An empty package is looked for in the current directory's module.
func (r *regression) ofBuilt(ctx context.Context, packaged string) error {
	test, found, err := recording.BuiltTest(r.source)
	if err != nil {
		return err
	}
	if packaged == "" {
		if packaged, err = directoryOf(ctx, found); err != nil {
			return fmt.Errorf("--package must name the directory of the test: %w", err)
		}
	} else if is, err := importPath(packaged); err != nil {
		return fmt.Errorf("--package: %w", err)
	} else if is != found {
		return fmt.Errorf("--package must name the directory of %s, whose test found the "+
			"counterexample: %s is %s", found, packaged, is)
	}
	absolute, err := filepath.Abs(r.source)
	if err != nil {
		return err
	}
	r.directory, r.copied, r.built = packaged, true, true
	r.Artifact = filepath.ToSlash(filepath.Join(recording.Corpus(test.Name),
		filepath.Base(absolute)))
	return r.beside(test.Name)
}

// importPath returns the import path of the package in a directory.
func importPath(directory string) (string, error) {
	module, err := moduleOf(directory)
	if err != nil {
		return "", err
	}
	if module == nil || module.file.Module == nil {
		return "", fmt.Errorf("%s is in no module", directory)
	}
	absolute, err := filepath.Abs(directory)
	if err != nil {
		return "", err
	}
	below, err := filepath.Rel(module.root, absolute)
	return path.Join(module.file.Module.Mod.Path, filepath.ToSlash(below)), err
}

// beside puts the test into the package of the test that found the counterexample.
func (r *regression) beside(test string) error {
	r.Found, _, _ = strings.Cut(test, "/")
	files, err := parseGo(r.directory)
	if err != nil {
		return err
	}
	for _, f := range files {
		if slices.ContainsFunc(f.Decls, func(d ast.Decl) bool {
			function, ok := d.(*ast.FuncDecl)
			return ok && function.Recv == nil && function.Name.Name == r.Found
		}) {
			r.Package, r.Constraint = f.Name.Name, buildConstraint(f)
			return nil
		}
	}
	return fmt.Errorf("%s: the package in %s has no test %s any more", r.source, r.directory,
		r.Found)
}

// command returns the shell command that runs the test.
func (r *regression) command() string {
	if r.built {
		return fmt.Sprintf("%s test %s --run '^%s$'", invocation(), shellQuote(r.directory), r.Test)
	}
	return fmt.Sprintf("cd %s && go test -run '^%s$' .", shellQuote(r.directory), r.Test)
}

// parseGo parses the Go files of a directory, in the order of their names.
func parseGo(directory string) (files []*ast.File, err error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.IsDir() || !strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(directory, entry.Name()), nil,
			parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// buildConstraint returns the line with the build constraint of a file, or "".
func buildConstraint(f *ast.File) string {
	for _, group := range f.Comments {
		for _, comment := range group.List {
			if comment.Pos() < f.Package && constraint.IsGoBuild(comment.Text) {
				return comment.Text
			}
		}
	}
	return ""
}

var regressionTemplate = template.Must(template.New("test").Parse(
	`{{with .Constraint}}{{.}}

{{end}}package {{.Package}}

import (
	"testing"

	"github.com/interlock-sim/interlock"
{{- if .Locks}}
	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/{{.Locks}}"
{{- end}}
)

// {{.Test}} replays a schedule that violated
// {{.Recording.Signature}}.
// Written by interlock regress.
func {{.Test}}(t *testing.T) {
	const counterexample = {{printf "%q" .Artifact}}
{{- if .Found}}
	interlock.Replay(t, counterexample, {{.Found}})
{{- else}}
	interlock.Replay(t, counterexample, func(t *testing.T) {
		lock, err := {{.LocksName}}.Named({{printf "%q" .Recording.Lock}}) // Put your lock here.
		if err != nil {
			t.Fatal(err)
		}
		lock.Name = {{printf "%q" .Recording.Lock}} // as recorded
		interlock.Check(t, scenarios.Scenario{
			Subject: lock, Clients: {{.Recording.Clients}}, Cycles: {{.Recording.Cycles -}}
			{{if .Recording.Threads}}, Threads: {{.Recording.Threads}}{{end -}}
			{{if .Real}}, Client: scenarios.Real{{end}},
		})
	})
{{- end}}
}
`))

// write writes the test, after a copy of the counterexample if it needs one.
func (r *regression) write() error {
	var text bytes.Buffer
	if err := regressionTemplate.Execute(&text, r); err != nil {
		return exit.With(exit.Internal, err)
	}
	content, err := format.Source(text.Bytes())
	if err != nil {
		return exit.With(exit.Internal, fmt.Errorf("%w in\n%s", err, &text))
	}
	existing, err := os.ReadFile(r.path)
	switch {
	case err == nil && !bytes.Equal(existing, content):
		return fmt.Errorf("%s exists already: remove or rename it", r.path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if r.copied {
		if err := r.copyCounterexample(); err != nil {
			return exit.With(exit.Internal, fmt.Errorf("copying the counterexample: %w", err))
		}
	}
	if err := file.WriteContent(r.path, content); err != nil {
		return exit.With(exit.Internal, fmt.Errorf("writing the test: %w", err))
	}
	return nil
}

// copyCounterexample copies the counterexample into the package, unless it is there already.
func (r *regression) copyCounterexample() error {
	to := filepath.Join(r.directory, filepath.FromSlash(r.Artifact))
	if _, err := os.Stat(to); err == nil {
		return nil // The name holds the trace hash.
	}
	return file.WriteDirectory(to, func(draft string) error {
		return os.CopyFS(draft, os.DirFS(r.source))
	})
}

// words returns the words of letters and digits of a name.
func words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9')
	})
}

// snakeCase returns a name as a part of a file's name.
func snakeCase(name string) string { return strings.Join(words(name), "_") }

// camelCase returns a name as a part of an identifier.
func camelCase(name string) string {
	var text strings.Builder
	for _, word := range words(name) {
		text.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return text.String()
}
