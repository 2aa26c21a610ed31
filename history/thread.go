package history

import "strconv"

// Threads of one process share its connection, its session and its handle on the lock. Each is a
// contender with a number of its own: the first has that of the process, and thread t of process p
// has (t-1)*threadStride+p. The stride is above the numbers of processes in production.
const threadStride = 100_000

// ThreadsMax is the highest number of threads of a process.
const ThreadsMax = 8

// ThreadNumber returns the number of a thread of a process, both from 1.
func ThreadNumber(process int32, thread int) int32 {
	return process + int32(thread-1)*threadStride
}

// ProcessOf returns the process of a number, and the thread, from 1.
func ProcessOf(number int32) (process int32, thread int) {
	if number <= threadStride {
		return number, 1
	}
	return (number-1)%threadStride + 1, int((number-1)/threadStride) + 1
}

// ProcessName returns the name of a process or thread: c1 for the first process and its first
// thread, c1.2 for its second one.
func ProcessName(number int32) string {
	process, thread := ProcessOf(number)
	if thread < 2 {
		return "c" + strconv.Itoa(int(number))
	}
	return "c" + strconv.Itoa(int(process)) + "." + strconv.Itoa(thread)
}

// ParseProcessName returns the number of a process or thread, and reports whether that is a name.
func ParseProcessName(name string) (number int32, ok bool) {
	if len(name) < 2 || name[0] != 'c' {
		return 0, false
	}
	thread := 1
	for i := range name {
		if name[i] == '.' {
			t, err := strconv.Atoi(name[i+1:])
			if err != nil || t < 2 || t > ThreadsMax {
				return 0, false
			}
			name, thread = name[:i], t
			break
		}
	}
	process, err := strconv.Atoi(name[1:])
	if err != nil || process < 1 || process > processesMax {
		return 0, false
	}
	return ThreadNumber(int32(process), thread), true
}

// SetThreads sets the number of threads of each process. [Log.Append] then appends an event that
// strikes a process with all its threads once for each: a crash, a fault of the process, the end of
// its session, and a state of its connection. Reset keeps the setting.
func (l *Log) SetThreads(threads int) { l.threads = threads }

// StrikesThreads reports whether an event strikes all threads of its process.
func (e *Event) StrikesThreads() bool {
	switch e.Kind {
	case Crashed, SessionExpired, SessionClosed, SessionState:
		return e.Process != 0
	case Fault:
		return e.Process != 0 && e.Name != "cancel"
	}
	return false
}
