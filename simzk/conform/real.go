package conform

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrNotInstalled means that [StartReal] finds no ZooKeeper on this machine.
var ErrNotInstalled = errors.New("ZooKeeper is not installed")

// jarDirectory is where Debian's package zookeeper installs the server and its dependencies. Their
// manifests name further dependencies.
const jarDirectory = "/usr/share/java"

// configurationFile is the name of a server's configuration in its directory.
const configurationFile = "zoo.cfg"

// startTimeout is the time a server has to start.
const startTimeout = 30 * time.Second

// StartReal starts a single ZooKeeper server of Debian's package on a free loopback port and
// returns when it serves clients. The directory must exist; it receives data, configuration and
// logs. The server has the settings of the facts on file: a tick of two seconds, extended types
// enabled and the superuser super:test. It never deletes containers, so that they do not vanish
// during a comparison. stop kills the server, as does the end of the context.
//
// The error is [ErrNotInstalled] if java or the package is missing, or the context's error.
func StartReal(ctx context.Context, directory string) (address string, stop func() error,
	err error,
) {
	command, err := findReal()
	if err != nil {
		return "", nil, err
	}
	const tries = 3 // another process may take the port first
	for range tries {
		address, stop, err = startReal(ctx, directory, command)
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return address, stop, cmp.Or(ctx.Err(), err)
}

// Installed returns nil if Debian's package zookeeper is installed, and else an error that wraps
// [ErrNotInstalled] and names what is missing.
func Installed() error {
	_, err := findReal()
	return err
}

// A realCommand starts servers: the java command and the class path.
type realCommand struct{ java, classPath string }

func findReal() (realCommand, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return realCommand{}, fmt.Errorf("%w: no java command; install Debian's package zookeeper",
			ErrNotInstalled)
	}
	var paths []string
	for _, name := range []string{"zookeeper", "slf4j-api", "slf4j-log4j12", "log4j-1.2"} {
		path := filepath.Join(jarDirectory, name+".jar")
		if _, err := os.Stat(path); err != nil {
			return realCommand{}, fmt.Errorf("%w: no %s; install Debian's package zookeeper",
				ErrNotInstalled, path)
		}
		paths = append(paths, path)
	}
	return realCommand{java, strings.Join(paths, string(os.PathListSeparator))}, nil
}

func startReal(ctx context.Context, directory string, command realCommand) (address string,
	stop func() error, err error,
) {
	address, err = freeAddress()
	if err != nil {
		return "", nil, err
	}
	if err := configureReal(directory, address); err != nil {
		return "", nil, err
	}
	process, err := command.launch(ctx, directory, address)
	if err != nil {
		return "", nil, err
	}
	return address, process.kill, nil
}

// A realProcess is a running server.
type realProcess struct {
	command *exec.Cmd
	ended   chan struct{}
}

// kill ends the server and waits for its end.
func (p *realProcess) kill() error {
	err := p.command.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-p.ended
	return err
}

// launch starts a server that is configured, and returns when it serves clients.
func (c realCommand) launch(ctx context.Context, directory, address string,
	environment ...string,
) (*realProcess, error) {
	output := new(bytes.Buffer)
	command := exec.CommandContext(ctx, c.java, "-Xmx512m",
		"-Dzookeeper.jmx.log4j.disable=true",
		"-Dlog4j.configuration=file:"+filepath.Join(directory, "log4j.properties"),
		"-Dzookeeper.extendedTypesEnabled=true",
		"-Dzookeeper.DigestAuthenticationProvider.superDigest=super:D/InIHSb7yEEbrWz8b9l71RjZJU=",
		// Fewer threads pass a request on with less delay.
		"-Dzookeeper.nio.numWorkerThreads=0", "-Dzookeeper.nio.numSelectorThreads=1",
		"-XX:+UseSerialGC",
		"-Dznode.container.checkIntervalMs=2000000000",
		"-cp", c.classPath, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
		filepath.Join(directory, configurationFile))
	command.Stdout, command.Stderr = output, output
	command.Env = append(command.Environ(), environment...)
	if err := command.Start(); err != nil {
		return nil, err
	}
	process := &realProcess{command, make(chan struct{})}
	go func() {
		command.Wait()
		close(process.ended)
	}()
	if err := awaitServing(ctx, address, process.ended); err != nil {
		process.kill()
		return nil, fmt.Errorf("ZooKeeper does not start at %s: %w\n%s", address, err, output)
	}
	return process, nil
}

// freeAddress returns a loopback address without a listener.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// configureReal writes the server's configuration, with further lines. Disabling forced disk writes
// makes the server several times faster.
func configureReal(directory, address string, further ...string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	configuration := strings.Join([]string{
		"tickTime=2000", "dataDir=" + filepath.Join(directory, "data"), "clientPort=" + port,
		"clientPortAddress=" + host,
		"admin.enableServer=false", "4lw.commands.whitelist=*", "maxClientCnxns=0", "forceSync=no",
		strings.Join(further, "\n"), "",
	}, "\n")
	logging := strings.Join([]string{
		"log4j.rootLogger=ERROR, F", "log4j.appender.F=org.apache.log4j.FileAppender",
		"log4j.appender.F.File=" + filepath.Join(directory, "zookeeper.log"),
		"log4j.appender.F.layout=org.apache.log4j.PatternLayout",
		"log4j.appender.F.layout.ConversionPattern=%d %p %c %m%n", "",
	}, "\n")
	return errors.Join(
		os.WriteFile(filepath.Join(directory, configurationFile), []byte(configuration), 0o644),
		os.WriteFile(filepath.Join(directory, "log4j.properties"), []byte(logging), 0o644))
}

// awaitServing polls the server until it reports its mode or ends.
func awaitServing(ctx context.Context, address string, ended <-chan struct{}) error {
	deadline := time.Now().Add(startTimeout)
	for time.Now().Before(deadline) {
		if strings.Contains(fourLetterWord(address, "srvr"), "Mode:") {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return errors.New("the process has ended")
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("no response in %v", startTimeout)
}

// fourLetterWord returns the server's response to a four-letter word, or "" on failure.
func fourLetterWord(address, word string) string {
	connection, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return ""
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return ""
	}
	if _, err := io.WriteString(connection, word); err != nil {
		return ""
	}
	answer, _ := io.ReadAll(connection)
	return string(answer)
}
