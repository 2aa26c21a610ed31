// Package file writes files, and JSON to files.
package file

import (
	"encoding/json"
	"io"
	"os"
)

// Write creates a file with what write writes.
func Write(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// WriteJSON creates a file with the value as JSON.
func WriteJSON(path string, value any) error {
	return Write(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(value)
	})
}

// DraftPrefix begins the name of a file or directory that is not complete yet.
const DraftPrefix = ".draft-"
