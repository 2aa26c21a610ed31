// Package file replaces files and directories as a whole. Whatever ends the program, and wherever
// the disk is full, a file is then the old one or the new one, never a part.
//
// A file is written to a draft in the same directory, flushed to the disk unless it is in the
// directory for temporary files, and renamed. A draft is removed if it cannot be completed; only a
// program that is killed leaves one.
package file

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// DraftPrefix begins the name of a file or directory that is not complete yet.
const DraftPrefix = ".draft-"

// Write replaces the file with what write writes, or creates it. A file that exists keeps its
// permissions, and a symbolic link remains one. A device or a pipe is written as it is. The error
// names the path, unless it is that of write.
func Write(path string, write func(io.Writer) error) error {
	at, err := find(path)
	if err != nil {
		return blame(path, err)
	}
	draft, err := at.open()
	if err != nil {
		return blame(path, err)
	}
	to := &output{file: draft}
	buffer := bufio.NewWriterSize(to, 1<<16)
	err = write(buffer)
	if err == nil {
		err = buffer.Flush()
	}
	if to.err != nil {
		err = blame(path, to.err)
	}
	return at.close(draft, path, err)
}

// WriteContent replaces the file with the content, or creates it.
func WriteContent(path string, content []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// WriteJSON replaces the file with the value as JSON, or creates it.
func WriteJSON(path string, value any) error {
	return Write(path, func(w io.Writer) error { return EncodeJSON(w, value) })
}

// EncodeJSON writes the value as indented JSON.
func EncodeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// Check returns why [Write] could not write the file now, or nil. It does not change the file.
func Check(path string) error {
	at, err := find(path)
	if err != nil || at.direct {
		return blame(path, err)
	}
	draft, err := at.open()
	if err != nil {
		return blame(path, err)
	}
	return blame(path, errors.Join(draft.Close(), os.Remove(draft.Name())))
}

// WriteDirectory makes a directory with the files that write writes to a draft of it. If the
// directory exists, its files are replaced one by one, so that each is the old or the new one.
// Parents are made as needed.
func WriteDirectory(path string, write func(draft string) error) error {
	parent := filepath.Dir(path)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(parent, DraftPrefix)
	if err != nil {
		return blame(path, err)
	}
	defer os.RemoveAll(draft) // Nothing is left to remove once it has been renamed.
	if err := write(draft); err != nil {
		if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
			if name, ok := strings.CutPrefix(failed.Path, draft); ok {
				return blame(path+name, err)
			}
		}
		return err
	}
	if err := os.Chmod(draft, 0o755); err != nil {
		return blame(path, err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return blame(path, rename(draft, path))
	}
	entries, err := os.ReadDir(draft)
	if err != nil {
		return blame(path, err)
	}
	for _, entry := range entries {
		to := filepath.Join(path, entry.Name())
		if err := rename(filepath.Join(draft, entry.Name()), to); err != nil {
			return blame(to, err)
		}
	}
	return nil
}

// Intercept is called, unless it is nil, before each operation that writes to a disk: create,
// write, sync, close and rename of a draft. An error that it returns is that of the operation.
// Tests set it before anything is written.
var Intercept func(operation, draft string) error

func intercept(operation, draft string) error {
	if Intercept == nil {
		return nil
	}
	return Intercept(operation, draft)
}

// A place is where a file is, or will be.
type place struct {
	path   string      // without symbolic links
	mode   fs.FileMode // of the file that exists, or 0
	direct bool        // a device or a pipe, which cannot be replaced
}

// find returns where a path leads to. A file that its permissions protect is an error: replacing it
// would go around them.
func find(path string) (place, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return place{path: path}, nil
	case err != nil:
		return place{}, err
	case info.IsDir():
		return place{}, &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular(), strings.HasPrefix(path, "/dev/"): // such as /dev/stdout
		return place{path: path, direct: true}, nil
	}
	writable, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return place{}, err
	}
	writable.Close()
	target, err := filepath.EvalSymlinks(path)
	return place{path: target, mode: info.Mode().Perm()}, err
}

// open opens what is to be written: the device, or a new draft.
func (p place) open() (*os.File, error) {
	if p.direct {
		return os.OpenFile(p.path, os.O_WRONLY, 0)
	}
	for {
		name := filepath.Join(filepath.Dir(p.path),
			DraftPrefix+strconv.FormatUint(rand.Uint64(), 36))
		if err := intercept("create", name); err != nil {
			return nil, err
		}
		draft, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return draft, err
		}
	}
}

// close completes a draft, and makes it the file at the path unless there was an error.
func (p place) close(draft *os.File, path string, err error) error {
	if p.direct {
		return errors.Join(err, blame(path, draft.Close()))
	}
	if err == nil {
		err = blame(path, p.complete(draft))
	} else {
		draft.Close()
	}
	if err != nil {
		os.Remove(draft.Name())
	}
	return err
}

// complete flushes and closes a draft, and renames it.
func (p place) complete(draft *os.File) error {
	var err error
	if p.mode != 0 {
		err = draft.Chmod(p.mode)
	}
	if err == nil {
		err = intercept("sync", draft.Name())
	}
	if err == nil && !temporary(draft.Name()) {
		err = draft.Sync()
	}
	if err == nil {
		err = intercept("close", draft.Name())
	}
	if failed := draft.Close(); err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	return rename(draft.Name(), p.path)
}

// temporary reports whether a file need not survive the machine, so that flushing it to the disk is
// only slow.
func temporary(path string) bool {
	absolute, err := filepath.Abs(path)
	return err == nil && strings.HasPrefix(absolute, filepath.Clean(os.TempDir())+"/")
}

func rename(from, to string) error {
	if err := intercept("rename", from); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// An output is a file that remembers the first error of writing to it.
type output struct {
	file *os.File
	err  error
}

// Write implements io.Writer.
func (o *output) Write(content []byte) (int, error) {
	err := intercept("write", o.file.Name())
	n := 0
	if err == nil {
		n, err = o.file.Write(content)
	}
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// blame returns an error of a draft as one of the file at the path.
func blame(path string, err error) error {
	if err == nil {
		return nil
	}
	operation := "write"
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		operation, err = failed.Op, failed.Err
	} else if failed := (*os.LinkError)(nil); errors.As(err, &failed) {
		operation, err = failed.Op, failed.Err
	}
	return &fs.PathError{Op: operation, Path: path, Err: err}
}
