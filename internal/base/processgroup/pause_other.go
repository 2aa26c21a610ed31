//go:build !unix

package processgroup

import (
	"errors"
	"os"
)

// Pause returns [errors.ErrUnsupported].
func Pause(*os.Process) error { return errors.ErrUnsupported }

// Resume returns [errors.ErrUnsupported].
func Resume(*os.Process) error { return errors.ErrUnsupported }
