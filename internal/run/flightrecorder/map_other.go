//go:build !unix

package flightrecorder

import (
	"errors"
	"os"
)

// mapFile maps no file: each store is a write.
func mapFile(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func wordAt([]byte, int) *uint64 { panic("flightrecorder: the file is not mapped") }
