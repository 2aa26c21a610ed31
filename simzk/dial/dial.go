// Package dial leads client libraries to the simulated servers of a run.
//
// The command interlock test builds client libraries from copies that ask this package before they
// dial. It imports the standard library only, so that a library which the simulation itself uses
// can import it.
package dial

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Network is what a client library reaches at one address. Any goroutine may call its methods.
type Network interface {
	// Dial connects to the server at an address, within the timeout unless that is 0. After the
	// end of the run it returns [ErrOver]. Patched says that a patched client library dials.
	Dial(address string, timeout time.Duration, patched bool) (net.Conn, error)
	// Call returns [ErrOver] if the run is over, so that a call of a client must fail. It does not
	// return if the process has stopped.
	Call() error
	// Return is called when a call of a client is about to return. It does not return if the
	// process has stopped.
	Return()
	// Random returns the source of the identifiers that a client chooses.
	Random() io.Reader
}

// ErrOver is the error of calls after the end of a run.
var ErrOver = errors.New("interlock: the run is over")

var (
	mu       sync.Mutex
	networks = map[string]Network{}
	patched  atomic.Bool
)

// Seed makes the global functions of math/rand/v2 return the same numbers after each call with the
// same seed; after a call with 0 they are random. It is nil unless copies of libraries set it.
var Seed func(seed uint64)

// Register makes an address lead to a network, instead of any earlier one.
func Register(address string, n Network) {
	mu.Lock()
	defer mu.Unlock()
	networks[address] = n
}

// at returns the network at the first address that leads to one, or nil.
func at(addresses ...string) Network {
	mu.Lock()
	defer mu.Unlock()
	for _, address := range addresses {
		if n := networks[address]; n != nil {
			return n
		}
	}
	return nil
}

// MarkPatched notes that the program contains a client library that asks this package. Copies of
// libraries call it when they are initialized.
func MarkPatched() { patched.Store(true) }

// Patched reports whether the program contains a client library that asks this package.
func Patched() bool { return patched.Load() }

// Dial connects to a simulated server if the address is that of one, and otherwise by the dialer.
func Dial(dialer func(network, address string, timeout time.Duration) (net.Conn, error),
	network, address string, timeout time.Duration,
) (net.Conn, error) {
	if n := at(address); n != nil {
		return n.Dial(address, timeout, true)
	}
	return dialer(network, address, timeout)
}

// NetDial is [net.Dial], which connects to simulated servers too.
func NetDial(network, address string) (net.Conn, error) {
	return NetDialTimeout(network, address, 0)
}

// NetDialTimeout is [net.DialTimeout], which connects to simulated servers too.
func NetDialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	if n := at(address); n != nil {
		return n.Dial(address, timeout, false)
	}
	return net.DialTimeout(network, address, timeout)
}

// IsOver reports whether an error of [Dial] says that the run is over, so that a client must end.
func IsOver(err error) bool { return errors.Is(err, ErrOver) }

// Call is called when code calls a client of the servers. See [Network].
func Call(addresses ...string) error {
	if n := at(addresses...); n != nil {
		return n.Call()
	}
	return nil
}

// Return is called when a call of a client of the servers is about to return. See [Network].
func Return(addresses ...string) {
	if n := at(addresses...); n != nil {
		n.Return()
	}
}

// Random returns the source of identifiers for a client of the servers, or the other reader if they
// are not simulated.
func Random(addresses []string, otherwise io.Reader) io.Reader {
	if n := at(addresses...); n != nil {
		return n.Random()
	}
	return otherwise
}

// Simulated reports whether one of the servers is simulated.
func Simulated(addresses ...string) bool { return at(addresses...) != nil }
