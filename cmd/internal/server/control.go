package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
)

// controlVariable is the environment variable that names the socket if --control does not.
const controlVariable = "INTERLOCK_CONTROL"

// controlFlags holds the flags of control as they were given.
type controlFlags struct {
	path          string
	wait, timeout time.Duration
}

func (f *controlFlags) define(command *cobra.Command) {
	flags := command.PersistentFlags()
	flags.StringVar(&f.path, "control", "", "`path` of the socket (default $"+controlVariable+")")
	flags.DurationVar(&f.wait, "wait", 0, "time to wait for the socket")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Second, "time to wait for the answer")
}

// NewControl returns the command control.
func NewControl() *cobra.Command {
	var f controlFlags
	var asJSON bool
	command := &cobra.Command{
		Use:   "control COMMAND [ARGUMENT]",
		Short: "Inject faults into a served ensemble, and show its status",
		Long: `Control sends a command to an interlock serve that was given --control:

  kill N           end the process of server N: its connections break, and it
                   refuses new ones
  up N             start server N again, at the same address and with its data
  wipe N           delete the data of server N, which must be down
  cut N            partition server N from the others: clients can connect to
                   it, but it does not serve them
  cut N M          drop the messages from server N to server M
  heal N, heal N M end the partition
  pause N          stop the process of server N, which keeps its connections
  delay N TIME     delay every message of server N to a client, by 5ms say
  lag N TIME       let server N apply each transaction that much later, unless
                   it leads: its clients read stale data
  clock N PERCENT  let the clock of server N, by which a leader times sessions,
                   run at a percentage of the true rate
  stall N          hold back the messages between server N and its clients;
                   with requests or replies behind N, only those
  stall N disk     let the disk of server N carry out no writes
  resume N         end stall and pause, and deliver what was held back
  lose-reply N     execute the next request at server N, and close the
                   connection without a reply
  expire SESSION   expire a session at once; a path instead names the owner of
                   an ephemeral node
  sessions         list the sessions
  status           show the state of the servers, and the faults in force

The socket is that of --control, or of the environment variable ` + controlVariable + `.
Its protocol is text: a command is a line. The answer is lines; the last line is
ok or begins with error:.

Exit status:
  0    done
  2    bad usage, a rejected command, or no server at the socket
  3    no answer
  130  interrupted`,
		Example: `  interlock control --control /tmp/interlock.sock kill 2
  interlock control status --json
  interlock control script faults.txt`,
		ValidArgs: controlVerbs(),
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				return fmt.Errorf("control needs a command: %s, script",
					strings.Join(controlVerbs(), ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if asJSON && arguments[0] != "status" {
				return fmt.Errorf("--json applies to status only, not to %s", arguments[0])
			}
			if asJSON {
				arguments = append(arguments, "json")
			}
			c, err := f.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.close()
			return c.run(strings.Join(arguments, " "), cmd.OutOrStdout())
		},
	}
	f.define(command)
	command.Flags().BoolVar(&asJSON, "json", false, "print the status as a JSON object")
	command.AddCommand(newControlScript(&f))
	return command
}

// A controlClient sends commands to an interlock serve.
type controlClient struct {
	ctx     context.Context // closes the connection when it ends
	conn    net.Conn
	lines   *bufio.Scanner
	timeout time.Duration // for an answer
	stop    func() bool   // ends the effect of the context
}

// connect connects to the socket that the flags name.
func (f *controlFlags) connect(ctx context.Context) (*controlClient, error) {
	if f.timeout <= 0 {
		return nil, fmt.Errorf("--timeout must be positive, not %v", f.timeout)
	}
	conn, err := awaitControl(ctx, f.path, f.wait)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 64<<20)
	return &controlClient{ctx, conn, lines, f.timeout, stop}, nil
}

func (c *controlClient) close() {
	c.stop()
	c.conn.Close()
}

// run executes a command and writes the answer.
func (c *controlClient) run(command string, w io.Writer) error {
	if err := c.conn.SetDeadline(time.Now().Add(c.timeout)); err != nil && c.ctx.Err() == nil {
		return exit.With(exit.Internal, err)
	}
	answer, err := sendCommand(c.conn, c.lines, command)
	switch {
	case c.ctx.Err() != nil:
		return errInterrupted
	case errors.Is(err, os.ErrDeadlineExceeded):
		return exit.With(exit.Internal, fmt.Errorf("no answer within %v (see "+
			"--timeout)", c.timeout))
	case err != nil:
		return err
	}
	if _, err = io.WriteString(w, answer); err != nil {
		return exit.With(exit.Internal, err)
	}
	return nil
}

// errInterrupted ends a command that a signal has interrupted.
var errInterrupted = exit.With(exit.Interrupted, errors.New("interrupted"))

// awaitControl connects to the socket, and retries until the wait is over.
func awaitControl(ctx context.Context, path string, wait time.Duration) (net.Conn, error) {
	over := time.After(wait)
	for {
		conn, err := dialControl(path)
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, errInterrupted
		case <-over:
			return nil, err
		case <-time.After(retryInterval):
		}
	}
}

// retryInterval is the time between two attempts to connect to a socket.
const retryInterval = 10 * time.Millisecond

// dialControl connects to the socket at the path or, if the path is empty, to the socket that the
// environment names.
func dialControl(path string) (net.Conn, error) {
	source := "--control"
	if path == "" {
		source, path = controlVariable, os.Getenv(controlVariable)
	}
	if path == "" {
		return nil, fmt.Errorf("no control socket: give --control, or set %s", controlVariable)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, fmt.Errorf("%s: no server at %s: %w", source, path, err)
	}
	return conn, nil
}

// sendCommand sends a command and returns the lines of the answer, without the final ok.
func sendCommand(conn net.Conn, lines *bufio.Scanner, command string) (string, error) {
	if strings.ContainsAny(command, "\r\n") {
		return "", errors.New("a command must be a single line")
	}
	if _, err := fmt.Fprintln(conn, command); err != nil {
		return "", err
	}
	var answer strings.Builder
	for lines.Scan() {
		line := lines.Text()
		if line == "ok" {
			return answer.String(), nil
		}
		if problem, failed := strings.CutPrefix(line, "error: "); failed {
			return "", errors.New(problem)
		}
		fmt.Fprintln(&answer, line)
	}
	if err := lines.Err(); err != nil {
		return "", err
	}
	return "", exit.With(exit.Internal, errors.New("interlock serve ended before it answered"))
}
