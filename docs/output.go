//go:build ignore

// This program puts the real output of commands, and the text of files, into Markdown files. A line
//
//	<!-- $ COMMAND -->
//
// is followed by a fenced block, which is replaced by the command and what it prints; the command
// is run by sh, with the directory that holds interlock in its path. It is shown up to its first
// pipe, or as what stands behind " ## ". Its output is shown without white space at the ends of
// lines. A line
//
//	<!-- file PATH -->
//
// is followed by a fenced block, which is replaced by the file from its first comment that is not a
// package's on. Usage: go run docs/output.go README.md docs/*.md
package main

import (
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	programs, err := os.MkdirTemp("", "interlock-docs-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(programs)
	build := exec.Command("go", "build", "-o", filepath.Join(programs, "interlock"),
		"./cmd/interlock")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		log.Fatalf("building interlock: %v", err)
	}
	os.Setenv("PATH", programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, path := range os.Args[1:] {
		content, err := os.ReadFile(path)
		if err != nil {
			log.Fatal(err)
		}
		text, err := refresh(string(content))
		if err != nil {
			log.Fatalf("%s: %v", path, err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// refresh replaces every block that follows a marker.
func refresh(text string) (string, error) {
	lines := strings.Split(text, "\n")
	var out []string
	for i := 0; i < len(lines); i++ {
		out = append(out, lines[i])
		marker, ok := strings.CutPrefix(lines[i], "<!-- ")
		if !ok {
			continue
		}
		marker = strings.TrimSuffix(marker, " -->")
		content, err := block(marker)
		if err != nil {
			return "", err
		}
		if content == "" {
			continue
		}
		if i+1 >= len(lines) || !strings.HasPrefix(lines[i+1], "```") {
			return "", fmt.Errorf("line %d: no fenced block after %q", i+1, marker)
		}
		out = append(out, lines[i+1], strings.TrimRight(content, "\n"), "```")
		for i += 2; i < len(lines) && lines[i] != "```"; i++ {
		}
	}
	return strings.Join(out, "\n"), nil
}

func block(marker string) (string, error) {
	if path, ok := strings.CutPrefix(marker, "file "); ok {
		content, err := os.ReadFile(path)
		return string(content), err
	}
	command, ok := strings.CutPrefix(marker, "$ ")
	if !ok {
		return "", nil
	}
	command, shown, renamed := strings.Cut(command, " ## ")
	shell := exec.Command("sh", "-c", command)
	shell.Stderr = nil
	printed, err := shell.Output()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		return "", err
	}
	if !renamed {
		shown, _, _ = strings.Cut(command, " | ")
		shown = strings.TrimSuffix(shown, " 2>/dev/null")
	}
	return "$ " + shown + "\n" + withoutTrailingSpace(string(printed)), nil
}

// withoutTrailingSpace returns the text without white space at the ends of lines, which column -t
// prints for empty cells.
func withoutTrailingSpace(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.Join(lines, "\n")
}
