package supervise

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// statusCrash is the exit status of a program that the Go runtime ends.
const statusCrash = 2

// trapExit makes the kernel send SIGSYS to a thread that ends the program with a status other than
// statusCrash. The Go runtime then prints the stack of its goroutine. It reports whether the kernel
// allows it.
func trapExit() bool {
	statement := func(code uint16, k uint32) unix.SockFilter {
		return unix.SockFilter{Code: code, K: k}
	}
	// Offsets into the kernel's struct seccomp_data: the number of the system call, and the lower
	// half of its first argument on a little-endian machine.
	const number, argument = 0, 16
	load := uint16(unix.BPF_LD | unix.BPF_W | unix.BPF_ABS)
	equal := uint16(unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K)
	filter := []unix.SockFilter{
		statement(load, number),
		{Code: equal, Jf: 3, K: unix.SYS_EXIT_GROUP},
		statement(load, argument),
		{Code: equal, Jt: 1, K: statusCrash},
		statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_TRAP),
		statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW),
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
		return false
	}
	_, _, failed := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	return failed == 0
}
