package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
)

func newControlScript(f *controlFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "script FILE",
		Short: "Send the commands of a file, each at its time",
		Long: `Script sends the commands of FILE to an interlock serve. A line has a time since
the start of the script and a command of interlock control. Times must not
decrease. Empty lines, and lines that begin with #, are skipped. Script checks
the whole file before it sends anything, and prints each line when it sends it,
and then the answer. It ends at the first command that is rejected.

Exit status:
  0    done
  2    bad usage, an unusable file, a rejected command, or no server at the socket
  3    no answer
  130  interrupted`,
		Example: `  interlock control script faults.txt

  # faults.txt: a follower lags, then the leader is paused.
  0s    lag 1 500ms
  2s    pause 3
  7.5s  resume 3`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, arguments []string) error {
			script, err := readControlScript(arguments[0])
			if err != nil {
				return err
			}
			c, err := f.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer c.close()
			return script.run(c, cmd.OutOrStdout())
		},
	}
}

// A controlScript is a sequence of commands with their times.
type controlScript struct {
	path  string
	lines []scriptLine
}

type scriptLine struct {
	number  int
	at      time.Duration // since the start of the script
	command string
}

// readControlScript reads a script. The error names the file and the line.
func readControlScript(path string) (*controlScript, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	s, number, last := &controlScript{path: path}, 0, time.Duration(0)
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		number++
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		at, err := parseScriptLine(fields, last)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		s.lines = append(s.lines, scriptLine{number, at, strings.Join(fields[1:], " ")})
		last = at
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, number+1, err)
	}
	if len(s.lines) == 0 {
		return nil, fmt.Errorf("%s: the script has no command", path)
	}
	return s, nil
}

// parseScriptLine returns the time of a line, which must not be earlier than that of the last one.
func parseScriptLine(fields []string, last time.Duration) (time.Duration, error) {
	at, err := time.ParseDuration(fields[0])
	switch {
	case err != nil || at < 0:
		return 0, fmt.Errorf("%q is not a time since the start such as 1.5s", fields[0])
	case at < last:
		return 0, fmt.Errorf("the time %v is before that of the command above, %v", at, last)
	case len(fields) == 1:
		return 0, errors.New("the line has a time and no command")
	}
	return at, checkControlVerb(fields[1])
}

// run sends each command at its time.
func (s *controlScript) run(c *controlClient, w io.Writer) error {
	start := time.Now()
	for i := range s.lines {
		line := &s.lines[i]
		if !sleepUntil(c.ctx, start.Add(line.at)) {
			return errInterrupted
		}
		if _, err := fmt.Fprintf(w, "%v %s\n", line.at, line.command); err != nil {
			return exit.With(exit.Internal, err)
		}
		if err := c.run(line.command, w); err != nil {
			return s.at(line, err)
		}
	}
	return nil
}

// at returns an error with the file and the line in front, and with the same exit status.
func (s *controlScript) at(line *scriptLine, err error) error {
	if errors.Is(err, errInterrupted) {
		return err
	}
	located := fmt.Errorf("%s:%d: %w", s.path, line.number, err)
	var status *exit.Error
	if errors.As(err, &status) {
		return exit.With(status.Status, located)
	}
	return located
}

// sleepUntil waits until a time, and reports whether it was reached before the context ended.
func sleepUntil(ctx context.Context, at time.Time) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
