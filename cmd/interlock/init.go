package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/modfile"

	"github.com/interlock-sim/interlock/internal/base/program"
)

func newInit() *cobra.Command {
	var service, shape, ci string
	command := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first test of a lock of your own",
		Long: `Init writes interlock_test.go into the package in DIR, by default the current
directory, and prints what to do next. The test fails until your lock is put
into it. It claims nothing: the claims that could fit are comments.

--shape says how the lock reaches its service:

  interface  it takes an interface of the client's methods (on ZooKeeper, the
             test passes a model of *zk.Conn)
  client     it takes the *zk.Conn, the *redis.Client or the *sql.DB
  dialing    it opens its own client (ZooKeeper only; see interlock test)

An existing interlock_test.go is an error. --ci writes no test, but prints a
workflow that runs the one in DIR.`,
		Example: `  interlock init --service zookeeper --shape client ./lease
  interlock init --ci github ./lease > .github/workflows/interlock.yml`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) > 1 {
				return fmt.Errorf("init takes one directory, not %q", arguments)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			directory := filepath.Clean(append(arguments, ".")[0])
			given := cmd.Flags().Changed
			switch {
			case given("ci") && (given("service") || given("shape")):
				return errors.New("--ci prints a workflow and writes no test: give it alone")
			case given("ci"):
				return printWorkflow(cmd.OutOrStdout(), ci, directory)
			}
			return writeFirstTest(cmd.OutOrStdout(), service, shape, directory)
		},
	}
	flags := command.Flags()
	flags.StringVar(&service, "service", "", "what the lock uses: "+
		strings.Join(services(), ", "))
	flags.StringVar(&shape, "shape", interfaceShape, "how it does: "+
		strings.Join(shapes(""), ", "))
	flags.StringVar(&ci, "ci", "", "print a workflow: "+strings.Join(workflowNames(), ", "))
	return command
}

// writeFirstTest writes a test into a directory, and prints what to do next.
func writeFirstTest(w io.Writer, service, shape, directory string) error {
	kind, err := findKind(service, shape)
	if err != nil {
		return err
	}
	if info, err := os.Stat(directory); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", directory)
	}
	module, err := moduleOf(directory)
	if err != nil {
		return err
	}
	f, err := newFirstTest(directory, kind)
	if err != nil {
		return err
	}
	if err := f.write(); err != nil {
		return err
	}
	_, err = io.WriteString(w, f.next(module))
	return err
}

// An ownModule is the module of a user's package.
type ownModule struct {
	root string // its directory
	file *modfile.File
}

// moduleOf returns the module of a directory, or nil if that is in none.
func moduleOf(directory string) (*ownModule, error) {
	root, err := filepath.Abs(directory)
	if err != nil {
		return nil, err
	}
	root = nearestWith(root, "go.mod")
	if root == "" {
		return nil, nil
	}
	path := filepath.Join(root, "go.mod")
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	parsed, err := modfile.ParseLax(path, content, nil)
	return &ownModule{root, parsed}, err
}

// nearestWith returns the directory, or the nearest one above it, that has an entry of the name, or
// "".
func nearestWith(directory, name string) string {
	for {
		_, err := os.Stat(filepath.Join(directory, name))
		parent := filepath.Dir(directory)
		switch {
		case err == nil:
			return directory
		case parent == directory || !errors.Is(err, fs.ErrNotExist):
			return ""
		}
		directory = parent
	}
}

// requires reports whether the module requires another, or is it.
func (m *ownModule) requires(path string) bool {
	return m.file.Module != nil && m.file.Module.Mod.Path == path ||
		slices.ContainsFunc(m.file.Require, func(r *modfile.Require) bool {
			return r.Mod.Path == path
		})
}

// next says what to do with the test.
func (f *firstTest) next(module *ownModule) string {
	var text strings.Builder
	fmt.Fprintf(&text, "wrote %s\n", f.path())
	if f.hidden != "" {
		fmt.Fprintf(&text, "      in package %s, because the package declares %s\n", f.Package,
			f.hidden)
	}
	text.WriteString("\nPut your lock into lockUnderTest there, and choose claims. Then run\n\n")
	if module == nil {
		text.WriteString("  go mod init MODULE\n")
	}
	pattern := localPath(f.directory)
	fmt.Fprintf(&text, "  %s test %s --run Interlock\n", invocation(), shellQuote(pattern))
	if f.tagged {
		text.WriteString("\nwith --tags, because all files of the package have build tags\n")
	}
	missing := f.missing(module)
	if len(missing) > 0 {
		text.WriteString("\nwhich changes nothing in the module. go test needs Interlock in " +
			"go.mod:\n\n")
		fmt.Fprintf(&text, "  cd %s\n  %s\n  go mod tidy\n", shellQuote(f.directory),
			requirement(missing))
	}
	if f.Client != "scenarios.Dialed" { // which go test skips
		if len(missing) == 0 {
			fmt.Fprintf(&text, "\nor\n\n  cd %s\n", shellQuote(f.directory))
		}
		text.WriteString("  go test -run Interlock .\n  go test -fuzz FuzzInterlock .\n")
	}
	fmt.Fprintf(&text, "\nIn CI, after the installation of interlock:\n\n"+
		"  - run: %s              # a step of GitHub Actions\n"+
		"  script: [%s]           # of a job of GitLab\n\n"+
		"%s init --ci %s %s prints the whole workflow.\n", ciCommand(pattern), ciCommand(pattern),
		invocation(), strings.Join(workflowNames(), "|"), shellQuote(pattern))
	return text.String()
}

// missing returns the modules of Interlock that the test imports and the module does not require.
func (f *firstTest) missing(module *ownModule) (paths []string) {
	for _, path := range []string{interlockModule, f.module} {
		if path != "" && (module == nil || !module.requires(path)) {
			paths = append(paths, path)
		}
	}
	return paths
}

// localPath returns a directory as the go command wants it, on all systems.
func localPath(directory string) string {
	if filepath.IsAbs(directory) || directory == "." || strings.HasPrefix(directory, "..") {
		return filepath.ToSlash(directory)
	}
	return "./" + filepath.ToSlash(directory)
}

// requirement returns the command that makes a module require modules of Interlock: this version,
// or the source that the program was built from.
func requirement(paths []string) string {
	source, version := program.Source(), program.Version()
	if source == "" && program.Released() {
		return "go get " + strings.Join(paths, "@"+version+" ") + "@" + version
	}
	if source == "" {
		source = "$CLONE"
	}
	command := "go mod edit"
	for _, path := range paths {
		within := strings.TrimPrefix(path, interlockModule)
		command += " -replace " + path + "=" + shellQuote(source+within)
	}
	return command
}
