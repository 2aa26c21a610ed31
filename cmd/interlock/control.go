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

// controlVariable is the variable of the environment that names the socket where --control does
// not.
const controlVariable = "INTERLOCK_CONTROL"

// controlVerbs are the commands that a controller takes, apart from launch, which has a command of
// its own.
const controlVerbs = "up, kill, wipe, cut, heal, expire, status, sessions"

func newControl() *cobra.Command {
	var path string
	var wait, timeout time.Duration
	var asJSON bool
	command := &cobra.Command{
		Use:   "control COMMAND [ARGUMENT]",
		Short: "Make a served ensemble fail, and ask how it is",
		Long: "Control has a command carried out by an interlock serve that was given " +
			"--control:\n\n" +
			"  kill N           end server N's process: its connections break, and connecting to " +
			"it is " +
			"refused\n" +
			"  up N             start server N again, at the same address and with the data that " +
			"it had\n" +
			"  wipe N           take away the data of server N, which must not run\n" +
			"  cut N            cut server N off from the others: clients reach it, but it does " +
			"not serve " +
			"them\n" +
			"  heal N           connect server N with the others again\n" +
			"  expire SESSION   end a session at once\n" +
			"  sessions         list the sessions\n" +
			"  status           tell what the servers do\n\n" +
			"The socket is that of --control, or else of the environment's " + controlVariable +
			". Whoever wants to speak to\n" +
			"it without this program sends a command as a line, and reads lines until one is ok " +
			"or begins " +
			"with error:.\n\n" +
			"Exit status: 0 done, 2 the command or the socket is wrong, 3 no answer, 130 " +
			"interrupted.",
		Example: "  interlock control --control /tmp/interlock.sock kill 2\n  interlock control " +
			"status " +
			"--json",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				return fmt.Errorf("control needs a command, one of %s", controlVerbs)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			if timeout <= 0 {
				return fmt.Errorf("--timeout must be more than nothing, not %v", timeout)
			}
			if asJSON && arguments[0] != "status" {
				return fmt.Errorf("--json is for status, not for %s", arguments[0])
			}
			if asJSON {
				arguments = append(arguments, "json")
			}
			return runControl(cmd.Context(), path, wait, timeout, strings.Join(arguments, " "),
				cmd.OutOrStdout())
		},
	}
	command.Flags().StringVar(&path, "control", "", "the `path` of the socket; $"+controlVariable+
		" unless given")
	command.Flags().DurationVar(&wait, "wait", 0, "wait so long for the socket to be there")
	command.Flags().DurationVar(&timeout, "timeout", 10*time.Second, "wait so long for the answer")
	command.Flags().BoolVar(&asJSON, "json", false, "print the status as one JSON object")
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
		return &statusError{statusInternal, fmt.Errorf("no answer in %v; --timeout waits longer",
			timeout)}
	case err != nil:
		return err
	}
	if _, err = io.WriteString(w, answer); err != nil {
		return &statusError{statusInternal, err}
	}
	return nil
}

// errInterrupted says that a signal has ended the program before it was done.
var errInterrupted = &statusError{statusInterrupted, errors.New("interrupted")}

// awaitControl connects to the socket, for which it waits.
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

// retryEvery is how often a socket is looked for that is waited for.
const retryInterval = 10 * time.Millisecond

// dialControl connects to the socket at a path or, if that is empty, to that which the environment
// names.
func dialControl(path string) (net.Conn, error) {
	source := "--control"
	if path == "" {
		source, path = controlVariable, os.Getenv(controlVariable)
	}
	if path == "" {
		return nil, fmt.Errorf("no socket: give --control, or set %s", controlVariable)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, fmt.Errorf("%s: nobody serves at %s: %w", source, path, err)
	}
	return conn, nil
}

// sendCommand sends a command and returns the lines that answer it.
func sendCommand(conn net.Conn, lines *bufio.Scanner, command string) (string, error) {
	if strings.ContainsAny(command, "\r\n") {
		return "", errors.New("a command is one line")
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
	return "", &statusError{statusInternal, errors.New("interlock serve has ended before it " +
		"answered")}
}
