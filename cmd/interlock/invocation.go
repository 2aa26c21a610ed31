package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/interlock-sim/interlock/internal/run/scheduler"
)

// replayCommand returns the shell command that replays the counterexample in the directory. The
// command still works after this program has ended: go run deletes the program that it has built.
func replayCommand(directory string) string {
	if strings.HasPrefix(directory, "-") {
		directory = "." + string(filepath.Separator) + directory // not a flag
	}
	command := " replay "
	if scheduler.Enabled {
		command += "--" + schedulerFlag + " "
	}
	return invocation() + command + shellQuote(directory)
}

func invocation() string {
	program := os.Args[0]
	if !strings.Contains(program, string(filepath.Separator)+"go-build") {
		return shellQuote(program)
	}
	if _, err := os.Stat(filepath.Join("cmd", "interlock", "main.go")); err == nil {
		return "go run ./cmd/interlock"
	}
	return "go run github.com/interlock-sim/interlock/cmd/interlock"
}

// shellQuote quotes an argument for a POSIX shell if it needs quotes.
func shellQuote(argument string) string {
	if argument == "" || strings.ContainsFunc(argument, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("/._-+=:@,", r))
	}) {
		return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
	}
	return argument
}
