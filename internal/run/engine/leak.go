package engine

import (
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// leakedGoroutines describes where the goroutines that a run left behind are blocked. They are
// those of the newest bubble without a loop. Owned reports whether a function belongs to the
// simulation. Goroutine numbers and addresses are omitted, because they differ between runs.
func leakedGoroutines(owned func(function string) bool) string {
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
		if strings.Contains(stack, loopRun+"(") {
			looping[bubble] = true
		}
		stacks[bubble] = append(stacks[bubble], strings.TrimSuffix(header[1], " (durable)")+
			standing(stackFrame, stack, owned))
	}
	for bubble := range stacks {
		if !looping[bubble] {
			newest = max(newest, bubble)
		}
	}
	if newest < 0 {
		return "unknown"
	}
	slices.Sort(stacks[newest])
	return strings.Join(slices.Compact(stacks[newest]), "; ")
}

var (
	bubbleHeader = regexp.MustCompile(`^goroutine \d+ \[([^,\]]+).*synctest bubble (\d+)`)
	stackFrame   = regexp.MustCompile(`(?m)^(\S+)\([^)]*\)\n\t.*/([^/\s]+:\d+)`)
)

// allStacks returns the stacks of all goroutines of the program. A search can ask after every
// schedule, so the buffer is kept.
func allStacks() string {
	buffer, _ := stackBuffers.Get().(*[]byte)
	if buffer == nil {
		buffer = new(make([]byte, 1<<16))
	}
	defer stackBuffers.Put(buffer)
	for {
		n := runtime.Stack(*buffer, true)
		if n < len(*buffer) || len(*buffer) >= stacksMax {
			return string((*buffer)[:n])
		}
		*buffer = make([]byte, 2*len(*buffer))
	}
}

var stackBuffers sync.Pool // of *[]byte

// stacksMax bounds the size of the stacks in bytes.
const stacksMax = 64 << 20

// standing names the innermost function on a stack that belongs neither to the runtime nor to the
// simulation. The expression matches a frame; its groups are the function and the line.
func standing(frames *regexp.Regexp, stack string, owned func(function string) bool) string {
	for _, frame := range frames.FindAllStringSubmatch(stack, -1) {
		if !ofRuntime(frame[1]) && !owned(frame[1]) {
			return " in " + frame[1][strings.LastIndexByte(frame[1], '/')+1:] + " (" + frame[2] +
				")"
		}
	}
	return ""
}

// loopRun and processMethod are the full name of [Loop.run] and the prefix of the methods of
// [Process], as stacks name them.
var (
	loopRun       = functionName((*Loop).run)
	processMethod = strings.TrimSuffix(functionName((*Process).run), "run")
)

func functionName(function any) string {
	return runtime.FuncForPC(reflect.ValueOf(function).Pointer()).Name()
}

// ofRuntime reports whether a function belongs to the runtime, or to the code between the runtime
// and a blocked caller.
func ofRuntime(function string) bool {
	for _, prefix := range []string{"runtime.", "time.", "sync.", "internal/"} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
