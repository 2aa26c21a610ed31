//go:build unix

package flightrecorder

import (
	"os"
	"syscall"
	"unsafe"
)

// mapFile maps the file into memory. What is stored there is in the file when the program has
// ended.
func mapFile(file *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED)
}

// wordAt returns the word at an offset that is a multiple of its size.
func wordAt(memory []byte, at int) *uint64 { return (*uint64)(unsafe.Pointer(&memory[at])) }
