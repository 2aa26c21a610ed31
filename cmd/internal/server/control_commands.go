package server

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/internal/base/unknown"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// controlCommands are the commands of a controller, except launch and connect. Each returns its
// answer.
var controlCommands = []struct {
	verb string
	run  func(c *controller, arguments []string) (string, error)
}{
	{"up", onServer(func(s *tcp.Server, server int) error { return s.Up(server, "") })},
	{"kill", onServer((*tcp.Server).Kill)},
	{"wipe", onServer((*tcp.Server).Wipe)},
	{"cut", onLink((*tcp.Server).Cut, (*tcp.Server).CutLink)},
	{"heal", onLink((*tcp.Server).Heal, (*tcp.Server).HealLink)},
	{"pause", onServer((*tcp.Server).Pause)},
	{"delay", withTime((*tcp.Server).Delay)},
	{"lag", withTime((*tcp.Server).Lag)},
	{"clock", (*controller).clock},
	{"stall", (*controller).stall},
	{"resume", onServer((*tcp.Server).Resume)},
	{"lose-reply", onServer((*tcp.Server).LoseReply)},
	{"expire", (*controller).expire},
	{"status", (*controller).status},
	{"sessions", (*controller).sessions},
}

// controlVerbs returns the names of the commands.
func controlVerbs() []string {
	verbs := make([]string, len(controlCommands))
	for i := range controlCommands {
		verbs[i] = controlCommands[i].verb
	}
	return verbs
}

// checkControlVerb returns an error unless there is a command of the name.
func checkControlVerb(verb string) error {
	if slices.Contains(controlVerbs(), verb) {
		return nil
	}
	return unknown.Name("command", verb, controlVerbs())
}

// execute executes a command and returns the answer.
func (c *controller) execute(verb string, arguments []string) (string, error) {
	if err := checkControlVerb(verb); err != nil {
		return "", err
	}
	return controlCommands[slices.Index(controlVerbs(), verb)].run(c, arguments)
}

// A serverCommand is a command on a server of the ensemble.
type serverCommand func(s *tcp.Server, server int) error

// onServer returns a command whose argument is the number of a server.
func onServer(do serverCommand) func(*controller, []string) (string, error) {
	return func(c *controller, arguments []string) (string, error) {
		if len(arguments) != 1 {
			return "", errors.New("the command takes one argument, a server number")
		}
		server, err := c.index(arguments[0])
		if err != nil {
			return "", err
		}
		return "", do(c.server, server)
	}
}

// onLink returns a command on a server, or on the messages from one server to another.
func onLink(do serverCommand, link func(s *tcp.Server, from, to int) error) func(
	*controller, []string,
) (string, error) {
	return func(c *controller, arguments []string) (string, error) {
		switch len(arguments) {
		case 1:
			return onServer(do)(c, arguments)
		case 2:
			from, err := c.index(arguments[0])
			if err != nil {
				return "", err
			}
			to, err := c.index(arguments[1])
			if err != nil {
				return "", err
			}
			return "", link(c.server, from, to)
		}
		return "", errors.New("the command takes a server number, or two for the messages from " +
			"the first to the second")
	}
}

// withTime returns a command whose arguments are the number of a server and a time.
func withTime(do func(s *tcp.Server, server int, value time.Duration) error) func(
	*controller, []string,
) (string, error) {
	return func(c *controller, arguments []string) (string, error) {
		if len(arguments) != 2 {
			return "", errors.New("the command takes a server number and a time such as 5ms")
		}
		value, err := time.ParseDuration(arguments[1])
		if err != nil {
			return "", fmt.Errorf("%q is not a time such as 5ms", arguments[1])
		}
		server, err := c.index(arguments[0])
		if err != nil {
			return "", err
		}
		return "", do(c.server, server, value)
	}
}

// index returns the index of the server with a number.
func (c *controller) index(number string) (int, error) {
	id, err := strconv.Atoi(number)
	if err != nil {
		return 0, fmt.Errorf("%q is not a server number", number)
	}
	index, found := c.server.Index(id)
	if !found {
		return 0, fmt.Errorf("there is no server %d", id)
	}
	return index, nil
}

// clock sets the rate of a server's clock.
func (c *controller) clock(arguments []string) (string, error) {
	if len(arguments) != 2 {
		return "", errors.New("the command takes a server number and a percentage such as 150")
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(arguments[1], "%"))
	if err != nil {
		return "", fmt.Errorf("%q is not a percentage such as 150", arguments[1])
	}
	server, err := c.index(arguments[0])
	if err != nil {
		return "", err
	}
	return "", c.server.SetClockRate(server, percent)
}

// stall holds back the messages of a server in one direction or in both.
func (c *controller) stall(arguments []string) (string, error) {
	directions := map[string]serverCommand{
		"requests": (*tcp.Server).StallRequests,
		"replies":  (*tcp.Server).StallReplies,
		"disk":     (*tcp.Server).StallDisk,
		"": func(s *tcp.Server, server int) error {
			return errors.Join(s.StallRequests(server), s.StallReplies(server))
		},
	}
	direction := ""
	if len(arguments) == 2 {
		arguments, direction = arguments[:1], arguments[1]
	}
	stall, known := directions[direction]
	if len(arguments) != 1 || !known {
		return "", errors.New("the command takes a server number, and requests, replies or disk")
	}
	return onServer(stall)(c, arguments)
}

// servers returns the ensemble of serve, and those of the fleet.
func (c *controller) servers() []*tcp.Server {
	return append([]*tcp.Server{c.server}, c.fleet.Servers()...)
}

// expire expires a session, or that which owns an ephemeral node.
func (c *controller) expire(arguments []string) (string, error) {
	if len(arguments) != 1 {
		return "", errors.New("the command takes one argument, a session id as sessions prints it")
	}
	if path := arguments[0]; strings.HasPrefix(path, "/") {
		for _, server := range c.servers() {
			if server.ExpireOwner(path) {
				return "", nil
			}
		}
		return "", fmt.Errorf("there is no ephemeral node %s", path)
	}
	id, err := strconv.ParseUint(strings.TrimPrefix(arguments[0], "0x"), 16, 64)
	if err != nil {
		return "", fmt.Errorf("%q is not a session id, a hexadecimal number", arguments[0])
	}
	for _, server := range c.servers() {
		if server.Expire(int64(id)) {
			return "", nil
		}
	}
	return "", fmt.Errorf("there is no session 0x%x", id)
}

// sessions lists the sessions.
func (c *controller) sessions(arguments []string) (string, error) {
	if len(arguments) > 0 {
		return "", errors.New("the command takes no argument")
	}
	var text strings.Builder
	for _, server := range c.servers() {
		sessions := server.Sessions()
		servers := server.Status().Servers // Read after the sessions, so that no server is missing.
		for _, s := range sessions {
			where := "not connected"
			if s.Server >= 0 {
				where = fmt.Sprintf("on server %d", servers[s.Server].Server)
			}
			if s.Home >= 0 {
				where += fmt.Sprintf(", local to server %d", servers[s.Home].Server)
			}
			fmt.Fprintf(&text, "0x%x  %v, %s, %d ephemeral nodes\n", uint64(s.ID), s.Timeout, where,
				len(s.Ephemeral))
		}
	}
	return text.String(), nil
}
