package hunt

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
)

// lockName is the name of the file that the hunt in a directory locks. It contains the number of
// the hunt's process.
const lockName = "hunt.lock"

// lockDirectory makes a directory and locks it for a hunt. The kernel releases the lock when the
// process ends, however it ends.
func lockDirectory(directory string) (*flock.Flock, error) {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(directory, lockName)
	lock := flock.New(path)
	locked, err := lock.TryLock()
	if err == nil && !locked {
		process, _ := os.ReadFile(path) // It may not be written yet.
		err = fmt.Errorf("the hunt of process %s is using %s", strings.TrimSpace(string(process)),
			directory)
	}
	if err != nil {
		return nil, err
	}
	number := strconv.Itoa(os.Getpid()) + "\n"
	if err := os.WriteFile(path, []byte(number), 0o600); err != nil {
		lock.Unlock()
		return nil, err
	}
	return lock, nil
}
