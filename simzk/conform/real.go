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
	"strconv"
	"strings"
	"time"
)

// ErrNotInstalled says that this machine has no ZooKeeper that [StartReal] could start.
var ErrNotInstalled = errors.New("ZooKeeper is not installed")

// jars is where Debian's package zookeeper puts the server and what it needs; their manifests name
// the rest.
const jars = "/usr/share/java"

// startTime is how long a server may take until it serves.
const startTime = 30 * time.Second

// StartReal starts a single ZooKeeper server of Debian's package on a free port of the loopback
// interface, with its data, its configuration and its logs in a directory that must exist, and
// returns when it serves. It has the settings under which the facts on file were found: a tick of
// two seconds, TTL nodes enabled, and the superuser super:test. It never deletes containers, so
// that they do not disappear amid a comparison. The function that it returns ends the server, as
// does the end of the context.
//
// The error is [ErrNotInstalled] where there is no java or no such package, and the context's if
// that has ended.
func StartReal(ctx context.Context, directory string) (address string, stop func() error,
	err error,
) {
	java, classPath, err := findReal()
	if err != nil {
		return "", nil, err
	}
	const tries = 3 // another process may take the port before the server does
	for range tries {
		address, stop, err = startReal(ctx, directory, java, classPath)
		if err == nil || ctx.Err() != nil {
			break
		}
	}
	return address, stop, cmp.Or(ctx.Err(), err)
}

// findReal finds the java command and returns it with the class path of the server.
func findReal() (java, classPath string, err error) {
	java, err = exec.LookPath("java")
	if err != nil {
		return "", "", fmt.Errorf("%w: no java command, Debian's package zookeeper brings one",
			ErrNotInstalled)
	}
	var paths []string
	for _, name := range []string{"zookeeper", "slf4j-api", "slf4j-log4j12", "log4j-1.2"} {
		path := filepath.Join(jars, name+".jar")
		if _, err := os.Stat(path); err != nil {
			return "", "", fmt.Errorf("%w: no %s, Debian's package zookeeper has it",
				ErrNotInstalled, path)
		}
		paths = append(paths, path)
	}
	return java, strings.Join(paths, string(os.PathListSeparator)), nil
}

func startReal(ctx context.Context, directory, java, classPath string) (address string,
	stop func() error, err error,
) {
	address, err = freeAddress()
	if err != nil {
		return "", nil, err
	}
	if err := configureReal(directory, address); err != nil {
		return "", nil, err
	}
	output := new(bytes.Buffer)
	command := exec.CommandContext(ctx, java, "-Xmx512m",
		"-Dzookeeper.jmx.log4j.disable=true",
		"-Dlog4j.configuration=file:"+filepath.Join(directory, "log4j.properties"),
		"-Dzookeeper.extendedTypesEnabled=true",
		"-Dzookeeper.DigestAuthenticationProvider.superDigest=super:D/InIHSb7yEEbrWz8b9l71RjZJU=",
		// As few threads as possible hand a request on, which is what it waits for most.
		"-Dzookeeper.nio.numWorkerThreads=0", "-Dzookeeper.nio.numSelectorThreads=1",
		"-XX:+UseSerialGC",
		"-Dznode.container.checkIntervalMs=2000000000",
		"-cp", classPath, "org.apache.zookeeper.server.quorum.QuorumPeerMain",
		filepath.Join(directory, "zoo.cfg"))
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	ended := make(chan struct{})
	go func() {
		command.Wait()
		close(ended)
	}()
	stop = func() error {
		err := command.Process.Kill()
		if errors.Is(err, os.ErrProcessDone) {
			err = nil
		}
		<-ended
		return err
	}
	if err := awaitServing(ctx, address, ended); err != nil {
		stop()
		return "", nil, fmt.Errorf("ZooKeeper does not serve at %s: %w\n%s", address, err, output)
	}
	return address, stop, nil
}

// freeAddress returns a loopback address that nobody listens at.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// configureReal writes the server's configuration. Without forced writes to the disk it is several
// times as fast.
func configureReal(directory, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	configuration := strings.Join([]string{
		"tickTime=2000", "dataDir=" + filepath.Join(directory, "data"), "clientPort=" + port,
		"clientPortAddress=" + host,
		"admin.enableServer=false", "4lw.commands.whitelist=*", "maxClientCnxns=0", "forceSync=no",
		"",
	}, "\n")
	logging := strings.Join([]string{
		"log4j.rootLogger=ERROR, F", "log4j.appender.F=org.apache.log4j.FileAppender",
		"log4j.appender.F.File=" + filepath.Join(directory, "zookeeper.log"),
		"log4j.appender.F.layout=org.apache.log4j.PatternLayout",
		"log4j.appender.F.layout.ConversionPattern=%d %p %c %m%n", "",
	}, "\n")
	return errors.Join(
		os.WriteFile(filepath.Join(directory, "zoo.cfg"), []byte(configuration), 0o644),
		os.WriteFile(filepath.Join(directory, "log4j.properties"), []byte(logging), 0o644))
}

// awaitServing asks the server until it says in which mode it serves, or has ended.
func awaitServing(ctx context.Context, address string, ended <-chan struct{}) error {
	deadline := time.Now().Add(startTime)
	for time.Now().Before(deadline) {
		if strings.Contains(fourLetterWord(address, "srvr"), "Mode:") {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return errors.New("it has ended")
		case <-time.After(20 * time.Millisecond):
		}
	}
	return errors.New("no answer for " + strconv.Itoa(int(startTime.Seconds())) + " seconds")
}

// fourLetterWord returns what the server answers to a four-letter word, or nothing.
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
