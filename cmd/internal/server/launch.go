package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// NewLaunch returns the command launch.
func NewLaunch() *cobra.Command {
	return &cobra.Command{
		Use:   "launch start-foreground CONFIG",
		Short: "Run a simulated server in place of a real one",
		Long: `Launch takes the arguments of ZooKeeper's zkServer.sh and reads the server's
configuration file, so that tests which start real servers can run it instead.
The server runs in the interlock serve whose control socket the environment
variable ` + controlVariable + ` names. It crashes when launch ends, for whatever
reason. Servers whose configurations name the same ensemble form one. A server
that is started again with the same dataDir has its data.

Launch uses these settings and ignores others:

  configuration    dataDir, clientPort, clientPortAddress, tickTime,
                   minSessionTimeout, maxSessionTimeout, server.N,
                   standaloneEnabled, reconfigEnabled, dynamicConfigFile, and
                   the file myid
  SERVER_JVMFLAGS  the superuser and extendedTypesEnabled

Relative paths are relative to the working directory, as for a real server. The
server listens on the loopback interface only; other addresses are refused.

Exit status:
  0  interrupted
  2  bad usage or configuration
  3  interlock serve has ended, or an internal error`,
		Example: "  INTERLOCK_CONTROL=/tmp/interlock.sock interlock launch start-foreground " +
			"zoo.cfg",
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) != 2 || arguments[0] != "start-foreground" {
				return fmt.Errorf("launch takes start-foreground and a configuration file, not %q",
					arguments)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, arguments []string) error {
			return runLaunch(cmd.Context(), arguments[1], os.Getenv("SERVER_JVMFLAGS"),
				cmd.OutOrStdout())
		},
	}
}

func runLaunch(ctx context.Context, path, javaFlags string, w io.Writer) error {
	// The program that runs the server has another working directory.
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	directory, err := os.Getwd()
	if err != nil {
		return err
	}
	config, err := tcp.ReadServerConfig(path, directory, javaFlags)
	if err != nil {
		return err
	}
	conn, err := dialControl("")
	if err != nil {
		return err
	}
	defer conn.Close()
	listener, err := net.Listen("tcp", config.Address)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer listener.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	lines := bufio.NewScanner(conn)
	token, err := sendCommand(conn, lines,
		(&launchRequest{path, directory, javaFlags, listener.Addr().String()}).String())
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "listens on %s\n", listener.Addr()); err != nil {
		return exit.With(exit.Internal, err)
	}
	go (&launcher{listener, strings.TrimSpace(token)}).serve(ctx)
	for lines.Scan() {
	}
	if ctx.Err() == nil {
		return exit.With(exit.Internal,
			errors.New("interlock serve has ended, and so has the server"))
	}
	return nil
}

// A launchRequest holds the arguments of the command launch.
type launchRequest struct {
	path      string // the configuration file
	directory string // the base of its relative paths
	javaFlags string
	address   string // the address on which the launching program listens
}

// A launch command is the word launch, words of the form key=value, and the path of the
// configuration. The directory and the Java flags are one word each, quoted as in Go and without
// spaces.
const (
	javaFlagsKey = "java-flags"
	directoryKey = "directory"
	listensKey   = "listens"
	quotedSpace  = `\x20`
)

// String returns the request as a command line.
func (l *launchRequest) String() string {
	quote := func(text string) string {
		return strings.ReplaceAll(strconv.Quote(text), " ", quotedSpace)
	}
	return fmt.Sprintf("launch %s=%s %s=%s %s=%s %s", javaFlagsKey, quote(l.javaFlags),
		directoryKey, quote(l.directory), listensKey, l.address, l.path)
}
