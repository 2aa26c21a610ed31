package server

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-sim/interlock/simzk/tcp"
)

// A controller accepts commands on a Unix socket. A command is a line. Its answer is lines; the
// last line is "ok" or begins with "error: ".
type controller struct {
	listener net.Listener
	server   *tcp.Server
	fleet    *tcp.Fleet

	stop chan struct{} // closed by close

	mu      sync.Mutex
	clients map[net.Conn]struct{}
	relays  map[string]*relayListener // by token
	closed  bool
	running sync.WaitGroup
}

// commandMax is the maximum length of a command, in bytes.
const commandMax = 1 << 20

// socketPathMax is the maximum length of a Unix socket path on every system, in bytes.
const socketPathMax = 103

// newController listens at the path. It replaces a stale socket: one without a listener.
func newController(path string, server *tcp.Server, fleet *tcp.Fleet) (*controller, error) {
	if len(path) > socketPathMax {
		return nil, fmt.Errorf("%s is too long for a Unix socket path (at most %d bytes)", path,
			socketPathMax)
	}
	if err := clearSocket(path); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		listener.Close()
		return nil, err
	}
	return serveControl(listener, server, fleet), nil
}

// serveControl returns a controller that accepts commands on the listener, until close.
func serveControl(listener net.Listener, server *tcp.Server, fleet *tcp.Fleet) *controller {
	c := &controller{
		listener: listener, server: server, fleet: fleet, stop: make(chan struct{}),
		clients: make(map[net.Conn]struct{}), relays: make(map[string]*relayListener),
	}
	c.running.Go(c.accept)
	return c
}

// clearSocket deletes a stale socket. Anything else at the path is an error.
func clearSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
		return fmt.Errorf("another program listens on %s", path)
	}
	return os.Remove(path)
}

// acceptRetryDelay is the delay after a failed accept, which mostly means too many open files.
const acceptRetryDelay = 50 * time.Millisecond

// accept serves clients until the listener is closed.
func (c *controller) accept() {
	for {
		conn, err := c.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			select {
			case <-c.stop:
				return
			case <-time.After(acceptRetryDelay):
			}
			continue
		}
		c.mu.Lock()
		if c.closed {
			conn.Close()
		} else {
			c.clients[conn] = struct{}{}
			c.running.Go(func() { c.serve(conn) })
		}
		c.mu.Unlock()
	}
}

// serve executes the commands of a client. The command launch lasts for the rest of the connection;
// connect hands the connection over to a launched server.
func (c *controller) serve(conn net.Conn) {
	handedOver := false
	defer func() {
		if !handedOver {
			conn.Close()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.clients, conn)
	}()
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, commandMax)
	for lines.Scan() {
		verb, arguments, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		switch verb {
		case "launch":
			c.launch(conn, lines, strings.TrimSpace(arguments))
			return
		case "connect":
			handedOver = c.connect(conn, strings.Fields(arguments))
			return
		}
		answer, err := c.execute(verb, strings.Fields(arguments))
		if err != nil {
			answer = fmt.Sprintf("error: %v\n", err)
		} else {
			answer += "ok\n"
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		fmt.Fprintf(conn, "error: a command can have at most %d bytes\n", commandMax)
	}
}

// close closes the socket and stops the servers that were launched through it.
func (c *controller) close() {
	c.mu.Lock()
	c.closed = true
	close(c.stop)
	c.listener.Close()
	for conn := range c.clients {
		conn.Close()
	}
	c.mu.Unlock()
	c.running.Wait()
}

// launch runs a server of the fleet until the client disconnects.
func (c *controller) launch(conn net.Conn, lines *bufio.Scanner, arguments string) {
	l := parseLaunch(arguments)
	config, err := tcp.ReadServerConfig(l.path, l.directory, l.javaFlags)
	if err != nil {
		fmt.Fprintf(conn, "error: %v\n", err)
		return
	}
	token, listener := c.addRelay(l.address)
	defer c.removeRelay(token)
	process, err := c.fleet.Launch(config, listener)
	if err != nil {
		fmt.Fprintf(conn, "error: %s: %v\n", l.path, err)
		return
	}
	defer process.Stop()
	fmt.Fprintf(conn, "%s\nok\n", cmp.Or(token, process.Address()))
	for lines.Scan() {
	}
}

// parseLaunch parses the arguments of launch. All but the path are optional: without an address,
// the server listens where its configuration says.
func parseLaunch(arguments string) launchRequest {
	var l launchRequest
	for {
		word, rest, found := strings.Cut(arguments, " ")
		key, value, _ := strings.Cut(word, "=")
		text, err := strconv.Unquote(value)
		switch {
		case found && err == nil && key == javaFlagsKey:
			l.javaFlags = text
		case found && err == nil && key == directoryKey:
			l.directory = text
		case found && key == listensKey:
			l.address = value
		default:
			l.path = arguments
			return l
		}
		arguments = rest
	}
}

// addRelay returns a listener for a server whose clients connect to another program at the address,
// and the token by which that program names it. Without a valid address it returns neither.
func (c *controller) addRelay(address string) (token string, listener net.Listener) {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return "", nil
	}
	r := newRelayListener(net.TCPAddrFromAddrPort(parsed))
	token = rand.Text()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.relays[token] = r
	return token, r
}

func (c *controller) removeRelay(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.relays, token)
}

// connect turns a connection to the socket into a client connection of a launched server. It
// reports whether the server has accepted it.
func (c *controller) connect(conn net.Conn, arguments []string) bool {
	if len(arguments) != 2 {
		fmt.Fprintln(conn, "error: the command takes a token and an address")
		return false
	}
	client, err := netip.ParseAddrPort(arguments[1])
	c.mu.Lock()
	r := c.relays[arguments[0]]
	c.mu.Unlock()
	if r == nil || err != nil {
		fmt.Fprintln(conn, "error: there is no such server")
		return false
	}
	if _, err := fmt.Fprintln(conn, "ok"); err != nil {
		return false
	}
	return r.connect(relayedConn{conn, net.TCPAddrFromAddrPort(client)})
}

// controlStatus is the answer to "status json".
type controlStatus struct {
	tcp.Status
	Launched []tcp.Status `json:"launched"` // ensembles of interlock launch
}

func (c *controller) status(arguments []string) (string, error) {
	asJSON := len(arguments) == 1 && arguments[0] == "json"
	if len(arguments) > 0 && !asJSON {
		return "", errors.New("the command takes no argument except json")
	}
	status := controlStatus{Status: c.server.Status(), Launched: []tcp.Status{}}
	for _, server := range c.fleet.Servers() {
		status.Launched = append(status.Launched, server.Status())
	}
	if asJSON {
		text, err := json.Marshal(status)
		return string(text) + "\n", err
	}
	var text strings.Builder
	writeStatus(&text, &status.Status)
	for i := range status.Launched {
		text.WriteString("launched:\n")
		writeStatus(&text, &status.Launched[i])
	}
	return text.String(), nil
}

func writeStatus(w io.Writer, s *tcp.Status) {
	for _, m := range s.Servers {
		fmt.Fprintf(w, "server %d  %-12s%-22s%s\n", m.Server, m.State, m.Address,
			strings.Join(append([]string{fmt.Sprintf("%d connections", m.Connections)},
				m.Faults...), ", "))
	}
	fmt.Fprintf(w, "zxid %s, %d nodes, %d sessions, %d watches\n", s.Zxid, s.Nodes, s.Sessions,
		s.Watches)
}
