package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/testkit/fifo"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// newTestController returns a controller that accepts commands on the listener.
func newTestController(t *testing.T, listener net.Listener) *controller {
	t.Helper()
	server, err := tcp.Start(tcp.Config{}, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fleet := tcp.NewFleet(tcp.Config{})
	c := serveControl(listener, server, fleet)
	t.Cleanup(func() {
		c.close()
		fleet.Close()
		server.Close()
	})
	return c
}

// say sends text to a controller and returns the first line of its answer.
func say(t *testing.T, address net.Addr, text string) string {
	t.Helper()
	conn, err := net.Dial(address.Network(), address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go io.WriteString(conn, text)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// A controller rejects commands that are too long, and configurations that cannot be read. It does
// not wait for the writer of a named pipe.
func TestControllerBadCommands(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	listener, err := net.Listen("unix", filepath.Join(directory, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	newTestController(t, listener)
	pipe := filepath.Join(directory, "fifo")
	fifo.Make(t, pipe)
	for _, test := range []struct{ command, want string }{
		{
			strings.Repeat("x", commandMax+1) + "\n",
			fmt.Sprintf("error: a command can have at most %d bytes\n", commandMax),
		},
		{"expire " + strings.Repeat("0", 100_000) + "1\n", "error: there is no session 0x1\n"},
		{"launch " + pipe + "\n", "error: read " + pipe + ": it is no regular file\n"},
		{
			`launch directory="/no\x20where" zoo.cfg` + "\n",
			"error: open /no where/zoo.cfg: no such file or directory\n",
		},
	} {
		if got := say(t, listener.Addr(), test.command); got != test.want {
			t.Errorf("%.40q: %q, want %q", test.command, got, test.want)
		}
	}
}

// An exhaustedListener fails a few times, as with too many open files.
type exhaustedListener struct {
	net.Listener
	left int
}

func (l *exhaustedListener) Accept() (net.Conn, error) {
	if l.left > 0 {
		l.left--
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// A controller accepts clients again after transient errors.
func TestControllerExhausted(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	newTestController(t, &exhaustedListener{listener, 3})
	if got := say(t, listener.Addr(), "bogus\n"); !strings.HasPrefix(got,
		`error: unknown command "bogus"`) {
		t.Errorf("%q", got)
	}
}
