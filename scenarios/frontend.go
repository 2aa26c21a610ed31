package scenarios

import (
	"fmt"

	"github.com/interlock-sim/interlock/simzk"
)

// A FrontEnd says through which client library the processes of a scenario meet the ensemble.
type FrontEnd uint8

// The front ends.
const (
	Model FrontEnd = iota // simzk's model of go-zookeeper/zk: fast
	Real                  // go-zookeeper/zk itself, unmodified, over connections in memory
)

var frontEndNames = [...]string{Model: "model", Real: "real"}

// String returns the name of the front end.
func (f FrontEnd) String() string { return frontEndNames[f] }

// ParseFrontEnd returns the front end of that name.
func ParseFrontEnd(name string) (FrontEnd, error) {
	for f, known := range frontEndNames {
		if name == known {
			return FrontEnd(f), nil
		}
	}
	return 0, fmt.Errorf("%q is not a client; choose model or real", name)
}

// MarshalText returns the name.
func (f FrontEnd) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText parses a name.
func (f *FrontEnd) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFrontEnd(string(text))
	return err
}

// connect adds a client of the scenario's kind to the cluster.
func (f FrontEnd) connect(cluster *simzk.Cluster) (simzk.Client, *simzk.Link) {
	if f == Model {
		conn := cluster.Connect()
		return conn, conn.Link
	}
	conn, err := cluster.ConnectReal()
	if err != nil {
		panic(err)
	}
	return conn, conn.Link()
}
