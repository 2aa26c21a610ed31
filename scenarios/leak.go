package scenarios

import (
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// leakedGoroutines says where the goroutines stand that a run has left behind. They are those of
// the newest bubble that has no loop any more. Goroutine numbers and addresses are left out: they
// differ from run to run.
func leakedGoroutines() string {
	dump := allStacks()
	stacks := make(map[int][]string)
	looping := make(map[int]bool)
	newest := -1
	for stack := range strings.SplitSeq(dump, "\n\n") {
		header := bubbleHeader.FindStringSubmatch(stack)
		if header == nil {
			continue
		}
		bubble, _ := strconv.Atoi(header[2])
		if strings.Contains(stack, "scenarios.(*loop).run(") {
			looping[bubble] = true
		}
		stacks[bubble] = append(stacks[bubble], strings.TrimSuffix(header[1], " (durable)")+
			standing(stackFrame, stack))
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

// allStacks returns the stacks of all goroutines of the program.
func allStacks() string {
	for dump := make([]byte, 1<<20); ; dump = make([]byte, 2*len(dump)) {
		if n := runtime.Stack(dump, true); n < len(dump) || len(dump) >= stacksMax {
			return string(dump[:n])
		}
	}
}

// stacksMax is how many bytes of stacks are looked at.
const stacksMax = 64 << 20

// standing names the innermost function of a stack that belongs neither to the runtime nor to the
// simulator. A frame matches the expression, whose groups are the function and the line.
func standing(frames *regexp.Regexp, stack string) string {
	for _, frame := range frames.FindAllStringSubmatch(stack, -1) {
		if !ofRuntime(frame[1]) {
			return " in " + frame[1][strings.LastIndexByte(frame[1], '/')+1:] + " (" + frame[2] +
				")"
		}
	}
	return ""
}

// simulator is how the names of the functions of package simzk begin.
const simulator = "github.com/interlock-sim/interlock/simzk."

// ofRuntime tells whether a function belongs to the runtime, or to what stands between it and those
// who wait.
func ofRuntime(function string) bool {
	for _, prefix := range []string{"runtime.", "time.", "sync.", "internal/", simulator} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
