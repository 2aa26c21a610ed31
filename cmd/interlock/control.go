package main

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
)

// controlVariable is the environment variable that names the socket if --control does not.
const controlVariable = "INTERLOCK_CONTROL"

// controlVerbs are the commands of a controller, except launch and connect.
const controlVerbs = "up, kill, wipe, cut, heal, delay, stall, resume, lose-reply, expire, " +
	"status, sessions"

func newControl() *cobra.Command {
	var path string
	var wait, timeout time.Duration
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
  heal N           end the partition of server N
  delay N TIME     delay every message of server N to a client, by 5ms say
  stall N          hold back the messages between server N and its clients;
                   with requests or replies behind N, only those
  resume N         deliver what was held back
  lose-reply N     execute the next request at server N, and close the
                   connection without a reply
  expire SESSION   expire a session at once; a path instead names the owner of
                   an ephemeral node
  sessions         list the sessions
  status           show the state of the servers

The socket is that of --control, or of the environment variable ` + controlVariable + `.
Its protocol is text: a command is a line. The answer is lines; the last line is
ok or begins with error:.

Exit status:
  0    done
  2    bad usage, a rejected command, or no server at the socket
  3    no answer
  130  interrupted`,
		Example: `  interlock control --control /tmp/interlock.sock kill 2
  interlock control status --json`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				return fmt.Errorf("control needs a command: %s", controlVerbs)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if timeout <= 0 {
				return fmt.Errorf("--timeout must be positive, not %v", timeout)
			}
			if asJSON && arguments[0] != "status" {
				return fmt.Errorf("--json applies to status only, not to %s", arguments[0])
			}
			if asJSON {
				arguments = append(arguments, "json")
			}
			return runControl(cmd.Context(), path, wait, timeout, strings.Join(arguments, " "),
				cmd.OutOrStdout())
		},
	}
	command.Flags().StringVar(&path, "control", "",
		"`path` of the socket (default $"+controlVariable+")")
	command.Flags().DurationVar(&wait, "wait", 0, "time to wait for the socket")
	command.Flags().DurationVar(&timeout, "timeout", 10*time.Second, "time to wait for the answer")
	command.Flags().BoolVar(&asJSON, "json", false, "print the status as a JSON object")
	return command
}

func runControl(ctx context.Context, path string, wait, timeout time.Duration, command string,
	w io.Writer,
) error {
	conn, err := awaitControl(ctx, path, wait)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return &statusError{statusInternal, err}
	}
	answer, err := sendCommand(conn, bufio.NewScanner(conn), command)
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &statusError{statusInternal, fmt.Errorf("no answer within %v (see "+
			"--timeout)", timeout)}
	case err != nil:
		return err
	}
	if _, err = io.WriteString(w, answer); err != nil {
		return &statusError{statusInternal, err}
	}
	return nil
}

// errInterrupted ends a command that a signal has interrupted.
var errInterrupted = &statusError{statusInterrupted, errors.New("interrupted")}

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
	lines.Buffer(nil, 64<<20)
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
	return "", &statusError{
		statusInternal, errors.New("interlock serve ended before it answered"),
	}
}
