package main

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

	"github.com/interlock-sim/interlock/simzk/tcp"
)

func newLaunch() *cobra.Command {
	return &cobra.Command{
		Use:   "launch start-foreground CONFIG",
		Short: "Run a simulated server in the place of a real one",
		Long: "Launch takes the arguments of ZooKeeper's zkServer.sh and reads the server's " +
			"configuration file, so that it\n" +
			"can stand in where tests start real servers. The server runs in the interlock serve " +
			"whose " +
			"control socket\n" +
			"the environment's " + controlVariable +
			" names, until launch ends in whatever way, which is the server's crash. Servers\n" +
			"whose configurations name the same ensemble form one, and a server that is started " +
			"again " +
			"with the same\n" +
			"dataDir has its data.\n\n" +
			"Of the configuration count dataDir, clientPort and clientPortAddress, tickTime, " +
			"minSessionTimeout and\n" +
			"maxSessionTimeout, server.N, standaloneEnabled, reconfigEnabled, dynamicConfigFile " +
			"and the " +
			"file myid; of the\n" +
			"environment's SERVER_JVMFLAGS the superuser and extendedTypesEnabled. Relative " +
			"paths are " +
			"relative to the working\n" +
			"directory, as they are for a real server, and keys that are not known are passed " +
			"over. A " +
			"server that real\n" +
			"clients elsewhere could reach is refused: only the loopback interface is served.\n\n" +
			"Exit status: 0 interrupted, 2 bad usage or configuration, 3 the program that runs " +
			"the server " +
			"has ended.",
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
	// The program that runs the server has a working directory of its own.
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
		return &statusError{statusInternal, err}
	}
	go (&launcher{listener, strings.TrimSpace(token)}).serve(ctx)
	for lines.Scan() {
	}
	if ctx.Err() == nil {
		return &statusError{
			statusInternal,
			errors.New("interlock serve has ended, and the server with it"),
		}
	}
	return nil
}

// A launchRequest is what the launch command says.
type launchRequest struct {
	path      string // of the configuration
	directory string // that its relative paths are relative to
	javaFlags string
	address   string // where the launching program listens
}

// The launch command is launch, then words of the form key=value, and then the path of the
// configuration. The directory and the Java flags are one word each, in Go's quotes and without
// blanks.
const (
	javaFlagsKey = "java-flags"
	directoryKey = "directory"
	listensKey   = "listens"
	quotedSpace   = `\x20`
)

// String returns the request as a line.
func (l *launchRequest) String() string {
	quote := func(text string) string {
		return strings.ReplaceAll(strconv.Quote(text), " ",
			quotedSpace)
	}
	return fmt.Sprintf("launch %s=%s %s=%s %s=%s %s", javaFlagsKey, quote(l.javaFlags),
		directoryKey,
		quote(l.directory),
		listensKey, l.address, l.path)
}
