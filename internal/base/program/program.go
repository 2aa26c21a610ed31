// Package program identifies the program that runs.
package program

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// Hash returns a hash of the program's executable file.
var Hash = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
})

// Version returns the version of the module that the program was built from.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}

// Released reports whether a module proxy has the version of [Version].
func Released() bool {
	version := Version()
	return strings.HasPrefix(version, "v") && !strings.Contains(version, "+")
}

// Source returns the root of the source that the program was built from, or "" if it does not exist
// here.
func Source() string {
	_, path, _, _ := runtime.Caller(0)
	for range 4 { // internal/base/program/program.go
		path = filepath.Dir(path)
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err != nil || !filepath.IsAbs(path) {
		return ""
	}
	return path
}
