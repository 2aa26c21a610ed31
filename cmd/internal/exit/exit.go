// Package exit has the exit statuses of interlock, and the error that ends it with one of them.
package exit

// The exit statuses.
const (
	OK        = 0 // nothing found
	Violation = 1 // a property is violated
	Usage     = 2 // the command line, or a file named there, is invalid
	Internal  = 3 // nondeterminism, an unknown verdict, a failed write or an internal error

	// Partial is the status of a command that a signal ended before it found anything. Its report
	// says that it is partial.
	Partial = 4

	// Unreachable is the status of a command whose NATS server cannot be reached. Another attempt
	// may succeed.
	Unreachable = 5

	// Interrupted is the status of a command that a signal ended early, as shells report Ctrl-C.
	Interrupted = 130
)

// An Error ends the program with its own status. Any other error is bad usage.
type Error struct {
	Status int
	Err    error // nil if there is nothing to print
}

// With returns an [Error].
func With(status int, err error) error { return &Error{status, err} }

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return "a property is violated"
	}
	return e.Err.Error()
}
