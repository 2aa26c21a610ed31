package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ofOthers are the flags in the docs that belong to another program: the NATS server.
var ofOthers = []string{"jetstream", "store"}

// The docs name every command and no other, and no unknown flag. Every flag has a help text.
func TestCommandsAreDocumented(t *testing.T) {
	var text strings.Builder
	pages, _ := filepath.Glob("../../docs/*.md")
	for _, page := range append(pages, "../../README.md") {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(content)
	}
	docs := text.String()
	flags, commands := make(map[string]bool), make(map[string]bool)
	for _, command := range descendants(newRoot(t)) {
		path := command.CommandPath()
		commands[path] = true
		ofCobra := strings.HasPrefix(path, "interlock completion ")
		if command.IsAvailableCommand() && !ofCobra && !strings.Contains(docs, path) {
			t.Errorf("no page of docs has `%s`", path)
		}
		command.InitDefaultHelpFlag()
		command.Flags().VisitAll(func(f *pflag.Flag) {
			flags[f.Name] = true
			if f.Usage == "" {
				t.Errorf("the help of %s does not explain --%s", path, f.Name)
			}
		})
	}
	for _, match := range docsFlag.FindAllStringSubmatch(docs, -1) {
		if name := match[1]; !flags[name] && !slices.Contains(ofOthers, name) {
			t.Errorf("the docs have the flag --%s, which no command has", name)
		}
	}
	for _, match := range docsCommand.FindAllStringSubmatch(docs, -1) {
		if !commands["interlock "+match[1]] {
			t.Errorf("the docs have the command `interlock %s`, which does not exist", match[1])
		}
	}
}

var (
	docsFlag    = regexp.MustCompile("[\\s`(\\[]--([a-z][a-z-]*)")
	docsCommand = regexp.MustCompile("`interlock ([a-z-]+)[ `]")
)

// descendants returns a command and those below it.
func descendants(command *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{command}
	for _, child := range command.Commands() {
		all = append(all, descendants(child)...)
	}
	return all
}
