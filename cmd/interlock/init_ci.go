package main

import (
	"embed"
	"fmt"
	"io"
	"path/filepath"
	"text/template"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/base/program"
	"github.com/interlock-sim/interlock/internal/base/unknown"
)

// workflowFiles are templates: GitHub's expressions have the usual delimiters of templates.
//
//go:embed init_github.yml init_gitlab.yml
var workflowFiles embed.FS

func workflowNames() []string { return []string{"github", "gitlab"} }

// printWorkflow prints a workflow that tests the package in a directory.
func printWorkflow(w io.Writer, name, directory string) error {
	file := "init_" + name + ".yml"
	parsed, err := template.New(file).Delims("<<", ">>").ParseFS(workflowFiles, file)
	if err != nil {
		return fmt.Errorf("--ci: %w", unknown.Name("workflow", name, workflowNames()))
	}
	absolute, err := filepath.Abs(directory)
	if err != nil {
		return err
	}
	module, err := moduleOf(directory)
	if err != nil {
		return err
	}
	if module == nil {
		return fmt.Errorf("--ci: no go.mod in %s or above it", directory)
	}
	relative, err := filepath.Rel(checkoutRoot(absolute), absolute)
	if err != nil {
		return exit.With(exit.Internal, err)
	}
	return parsed.Execute(w, map[string]string{
		"Install": installation(), "Test": ciCommand(localPath(relative)),
	})
}

// ciCommand returns the command that tests a package in CI.
func ciCommand(pattern string) string {
	return "interlock test " + shellQuote(pattern) + " --run Interlock"
}

// installation returns the shell command that installs the command interlock.
func installation() string {
	if program.Released() {
		return "go install " + interlockModule + "/cmd/interlock@" + program.Version()
	}
	return "git clone --depth 1 " + projectURI + " /tmp/interlock && " +
		"go -C /tmp/interlock install ./cmd/interlock"
}
