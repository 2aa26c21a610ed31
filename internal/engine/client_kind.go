package engine

import "fmt"

// A ClientKind says which client library the processes of a scenario use.
type ClientKind uint8

// The client kinds.
const (
	Model ClientKind = iota // simzk's model of go-zookeeper/zk: fast
	Real                    // go-zookeeper/zk itself, unmodified, over connections in memory
)

var clientKindNames = [...]string{Model: "model", Real: "real"}

// String returns the name of the kind.
func (f ClientKind) String() string { return clientKindNames[f] }

// ParseClientKind returns the kind of that name.
func ParseClientKind(name string) (ClientKind, error) {
	for f, known := range clientKindNames {
		if name == known {
			return ClientKind(f), nil
		}
	}
	return 0, fmt.Errorf("%q is not a client; choose model or real", name)
}

// MarshalText returns the name.
func (f ClientKind) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText parses a name.
func (f *ClientKind) UnmarshalText(text []byte) (err error) {
	*f, err = ParseClientKind(string(text))
	return err
}
