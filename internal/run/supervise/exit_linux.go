package supervise

import (
	"runtime"
	"syscall"
	"unsafe"
)

// statusCrash is the exit status of a program that the Go runtime ends.
const statusCrash = 2

// What package syscall lacks of Linux. Package golang.org/x/sys/unix has it, but requiring that
// module would raise its version for users of this one.
const (
	setNoNewPrivileges = 38 // an operation of prctl

	setModeFilter = 1 // an operation of seccomp
	flagTSync     = 1
	returnTrap    = 0x30000
	returnAllow   = 0x7fff0000
)

// seccomp is the number of the system call on little-endian machines of 64 bits.
var seccomp = map[string]uintptr{
	"amd64": 317, "arm64": 277, "loong64": 277, "ppc64le": 358, "riscv64": 277,
}[runtime.GOARCH]

// trapExit makes the kernel send SIGSYS to a thread that ends the program with a status other than
// statusCrash. The Go runtime then prints the stack of its goroutine. It reports whether the kernel
// allows it.
func trapExit() bool {
	if seccomp == 0 {
		return false
	}
	statement := func(code uint16, k uint32) syscall.SockFilter {
		return syscall.SockFilter{Code: code, K: k}
	}
	// Offsets into the kernel's struct seccomp_data: the number of the system call, and the lower
	// half of its first argument on a little-endian machine.
	const number, argument = 0, 16
	load := uint16(syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS)
	equal := uint16(syscall.BPF_JMP | syscall.BPF_JEQ | syscall.BPF_K)
	filter := []syscall.SockFilter{
		statement(load, number),
		{Code: equal, Jf: 3, K: syscall.SYS_EXIT_GROUP},
		statement(load, argument),
		{Code: equal, Jt: 1, K: statusCrash},
		statement(syscall.BPF_RET|syscall.BPF_K, returnTrap),
		statement(syscall.BPF_RET|syscall.BPF_K, returnAllow),
	}
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, _, failed := syscall.Syscall6(syscall.SYS_PRCTL, setNoNewPrivileges, 1, 0, 0, 0, 0)
	if failed != 0 {
		return false
	}
	_, _, failed = syscall.Syscall(seccomp, setModeFilter, flagTSync,
		uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	return failed == 0
}
