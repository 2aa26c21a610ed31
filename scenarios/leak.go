package scenarios

import (
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// leakedGoroutines says where the goroutines stand that a run has left behind. They are those of the newest bubble
// that has no loop any more. Goroutine numbers and addresses are left out: they differ from run to run.
func leakedGoroutines() string {
	dump := make([]byte, 1<<20)
	dump = dump[:runtime.Stack(dump, true)]
	stacks := make(map[int][]string)
	looping := make(map[int]bool)
	newest := -1
	for stack := range strings.SplitSeq(string(dump), "\n\n") {
		header := bubbleHeader.FindStringSubmatch(stack)
		if header == nil {
			continue
		}
		bubble, _ := strconv.Atoi(header[2])
		if strings.Contains(stack, "scenarios.(*loop).run(") {
			looping[bubble] = true
		}
		stacks[bubble] = append(stacks[bubble], strings.TrimSuffix(header[1], " (durable)")+standing(stack))
	}
	for bubble := range stacks {
		if !looping[bubble] {
			newest = max(newest, bubble)
		}
	}
	if newest < 0 {
		return "where they stand is not known"
	}
	slices.Sort(stacks[newest])
	return strings.Join(stacks[newest], "; ")
}

var (
	bubbleHeader = regexp.MustCompile(`^goroutine \d+ \[([^,\]]+).*synctest bubble (\d+)`)
	stackFrame   = regexp.MustCompile(`(?m)^(\S+)\([^)]*\)\n\t.*/([^/\s]+:\d+)`)
)

// standing names the innermost function of a stack that is not the runtime's.
func standing(stack string) string {
	for _, frame := range stackFrame.FindAllStringSubmatch(stack, -1) {
		if !ofRuntime(frame[1]) {
			return " in " + frame[1][strings.LastIndexByte(frame[1], '/')+1:] + " (" + frame[2] + ")"
		}
	}
	return ""
}

// ofRuntime tells whether a function belongs to the runtime, or to what stands between it and those who wait.
func ofRuntime(function string) bool {
	for _, prefix := range []string{"runtime.", "time.", "sync.", "internal/"} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
