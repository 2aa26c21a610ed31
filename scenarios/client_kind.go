package scenarios

import "fmt"

// A ClientKind says which client library the processes of a scenario use.
type ClientKind uint8

// The client kinds.
const (
	Model ClientKind = iota // simzk's model of go-zookeeper/zk: fast
	Real                    // go-zookeeper/zk itself, unmodified, over connections in memory
	// Dialed processes open clients themselves, at [Process.Address]. Such a scenario runs only
	// under the command interlock test.
	Dialed
)

var clientKindNames = [...]string{Model: "model", Real: "real", Dialed: "dialed"}

// String returns the name of the kind.
func (f ClientKind) String() string { return clientKindNames[f] }

// Library reports whether processes run a client library, which has goroutines of its own, and not
// a model.
func (f ClientKind) Library() bool { return f != Model }

// ParseClientKind returns the kind of that name. [Dialed] is not a choice: it depends on the lock.
func ParseClientKind(name string) (ClientKind, error) {
	if f, ok := clientKindOf(name); ok && f != Dialed {
		return f, nil
	}
	return 0, fmt.Errorf("%q is not a client; choose model or real", name)
}

func clientKindOf(name string) (ClientKind, bool) {
	for f, known := range clientKindNames {
		if name == known {
			return ClientKind(f), true
		}
	}
	return 0, false
}

// MarshalText returns the name.
func (f ClientKind) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText parses a name.
func (f *ClientKind) UnmarshalText(text []byte) error {
	var ok bool
	if *f, ok = clientKindOf(string(text)); !ok {
		return fmt.Errorf("%q is not a client", text)
	}
	return nil
}
