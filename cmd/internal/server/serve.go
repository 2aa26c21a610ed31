// Package server has the commands of interlock that serve the simulated ZooKeeper, control it and
// compare it with a real one.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-sim/interlock/cmd/internal/exit"
	"github.com/interlock-sim/interlock/internal/base/localhttp"
	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

const (
	serversMax = 7
	tickMin    = 10 * time.Millisecond
)

// serveFlags holds the flags of serve as they were given.
type serveFlags struct {
	listen, version, sequence, superDigest string
	localSessions                          string
	control, requests, ui                  string
	servers                                int
	tick, lag                              time.Duration
	extendedTypes, reconfig, public, json  bool
}

// NewServe returns the command serve.
func NewServe() *cobra.Command {
	var f serveFlags
	command := &cobra.Command{
		Use:   "serve",
		Short: "Serve a simulated ZooKeeper ensemble over TCP",
		Long: `Serve makes the simulated ensemble available to any ZooKeeper client in any
language: over TCP, in real time, with the sessions, watches and answers of a
real release. The data is in memory only. Serve prints a line with the address
of each server and runs until it is interrupted. Port 0 of --listen is any free
port.

The servers require no password, so they accept local connections only, unless
--public is given. They answer all four-letter words. The number of clients is
not limited; a client that leaves 16 MB unread is disconnected.

With --control, faults can be injected into the ensemble: see interlock control.
With --local-sessions on, only the server that opens a session knows it: the
session cannot be resumed at another server or create ephemeral nodes. With
upgrade, its first ephemeral node makes the session known to all servers.

With --lag, followers apply each transaction that much later, so that clients
read stale data. --requests writes a line of JSON for each request: when it
came (at), how long it took (took_ns), its server, session and zxid, and the
error or "no reply" (result). --ui serves a live page with the servers, the
sessions, the watches, the nodes and the latest requests, for this machine only.

Exit status:
  0  interrupted
  2  bad usage, or an unavailable address
  3  an internal error`,
		Example: `  interlock serve
  interlock serve --listen 127.0.0.1:0 --servers 3 --control /tmp/interlock.sock --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, addresses, err := f.parse()
			if err != nil {
				return err
			}
			return runServe(cmd.Context(), config, addresses, &f, cmd.OutOrStdout(),
				cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:2181",
		"`address` of the first server; others use the next ports")
	flags.IntVar(&f.servers, "servers", 1,
		fmt.Sprintf("servers of the ensemble, at most %d", serversMax))
	flags.DurationVar(&f.tick, "tick", 2*time.Second,
		"ZooKeeper's tickTime; session timeouts are 2 to 20 ticks")
	flags.StringVar(&f.version, "zookeeper-version", "3.8", "`release` to simulate: 3.8 or 3.9")
	flags.StringVar(&f.sequence, "sequence", "shipped",
		"sequence numbers after 2^31-1: shipped (real servers) or documented")
	flags.BoolVar(&f.extendedTypes, "extended-types", false, "allow TTL nodes")
	flags.BoolVar(&f.reconfig, "reconfig", false, "allow the superuser to reconfigure the ensemble")
	flags.StringVar(&f.localSessions, "local-sessions", "off",
		"sessions known to one server: off, on or upgrade")
	flags.StringVar(&f.superDigest, "super-digest", "", "superuser as `user:digest`")
	flags.StringVar(&f.control, "control", "", "`path` of a Unix socket for interlock control")
	flags.DurationVar(&f.lag, "lag", 0, "time by which followers lag behind the leader")
	flags.StringVar(&f.requests, "requests", "", "`file` to append requests to, or - for stderr")
	flags.StringVar(&f.ui, "ui", "", "loopback `address` of a live page, such as 127.0.0.1:0")
	flags.BoolVar(&f.public, "public", false, "allow addresses that other machines can reach")
	flags.BoolVar(&f.json, "json", false, "print the addresses as a JSON object")
	return command
}

// parse returns the configuration and the addresses that the flags describe, or an error that names
// a wrong flag.
func (f *serveFlags) parse() (tcp.Config, []string, error) {
	config := tcp.Config{Cluster: simzk.Config{
		TickTime: f.tick, Servers: f.servers, SuperDigest: f.superDigest,
		ExtendedTypes: f.extendedTypes, Reconfig: f.reconfig, Lag: true,
	}}
	switch {
	case f.servers < 1 || f.servers > serversMax:
		return config, nil, fmt.Errorf("--servers must be from 1 to %d, not %d", serversMax,
			f.servers)
	case f.reconfig && f.servers == 1:
		return config, nil, errors.New("--reconfig needs --servers of at least 2: ZooKeeper " +
			"cannot reconfigure a standalone server")
	case f.lag < 0:
		return config, nil, fmt.Errorf("--lag must not be negative, as %v is", f.lag)
	case f.lag > 0 && (f.servers == 1 || f.reconfig):
		return config, nil, errors.New("--lag needs --servers of at least 2, and no --reconfig")
	case f.tick < tickMin:
		return config, nil, fmt.Errorf("--tick must be at least %v, not %v", tickMin, f.tick)
	case f.superDigest != "" && strings.Count(f.superDigest, ":") != 1:
		return config, nil, fmt.Errorf("--super-digest: %q is not of the form user:digest",
			f.superDigest)
	}
	switch f.version {
	case "3.8":
		config.Cluster.Version = simzk.V38
	case "3.9":
		config.Cluster.Version = simzk.V39
	default:
		return config, nil, fmt.Errorf("--zookeeper-version: unknown release %q; known are 3.8 "+
			"and 3.9", f.version)
	}
	switch f.sequence {
	case "shipped":
	case "documented":
		config.Cluster.SequenceWraps = true
	default:
		return config, nil, fmt.Errorf("--sequence: unknown rule %q; known are shipped and "+
			"documented", f.sequence)
	}
	var err error
	if config.Cluster.LocalSessions, err = f.parseLocalSessions(); err != nil {
		return config, nil, err
	}
	addresses, err := f.addresses()
	return config, addresses, err
}

func (f *serveFlags) parseLocalSessions() (simzk.LocalSessions, error) {
	modes := map[string]simzk.LocalSessions{
		"off": simzk.NoLocalSessions, "on": simzk.FixedLocalSessions,
		"upgrade": simzk.UpgradedLocalSessions,
	}
	mode, known := modes[f.localSessions]
	switch {
	case !known:
		return mode, fmt.Errorf("--local-sessions: unknown value %q; known are off, on and upgrade",
			f.localSessions)
	case mode != simzk.NoLocalSessions && f.servers == 1:
		return mode, errors.New("--local-sessions needs --servers of at least 2: a standalone " +
			"ZooKeeper server has none")
	}
	return mode, nil
}

// addresses returns the address of each server.
func (f *serveFlags) addresses() ([]string, error) {
	host, portText, err := net.SplitHostPort(f.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %q is not of the form host:port", f.listen)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("--listen: %q is not a port, a number from 0 to 65535", portText)
	}
	if port+uint64(f.servers)-1 > 65535 {
		return nil, fmt.Errorf("--listen: %d servers do not fit in the ports from %d to 65535",
			f.servers, port)
	}
	if !f.public && !localhttp.IsLoopback(host) {
		return nil, fmt.Errorf("--listen: other machines can reach %s, and the servers require no "+
			"password; give --public to allow that", f.listen)
	}
	addresses := make([]string, f.servers)
	for i := range addresses {
		addresses[i] = net.JoinHostPort(host, strconv.FormatUint(port, 10))
		if port != 0 {
			port++
		}
	}
	return addresses, nil
}

// A serveReport is the JSON output of serve.
type serveReport struct {
	Version   string   `json:"version"` // of ZooKeeper, as the servers report it
	Addresses []string `json:"addresses"`
	Control   string   `json:"control,omitempty"`
	UI        string   `json:"ui,omitempty"` // URL
}

func runServe(ctx context.Context, config tcp.Config, addresses []string, f *serveFlags,
	stdout, stderr io.Writer,
) (err error) {
	var page servePage
	if f.ui != "" {
		if err := page.listen(f.ui); err != nil {
			return fmt.Errorf("--ui: %w", err)
		}
		defer page.listener.Close()
	}
	log, err := openRequestLog(f.requests, stderr)
	if err != nil {
		return fmt.Errorf("--requests: %w", err)
	}
	defer func() {
		if failed := log.close(); failed != nil && err == nil {
			err = exit.With(exit.Internal, fmt.Errorf("--requests: %w", failed))
		}
	}()
	if f.requests != "" || f.ui != "" {
		config.Requests = func(r tcp.Request) {
			log.note(&r)
			page.dashboard.Note(r)
		}
	}
	server, err := tcp.Start(config, addresses...)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	defer server.Close()
	if err := setLag(server, f.lag); err != nil {
		return exit.With(exit.Internal, err)
	}
	fleet := tcp.NewFleet(fleetConfig(config))
	defer fleet.Close()
	if f.control != "" {
		controller, err := newController(f.control, server, fleet)
		if err != nil {
			return fmt.Errorf("--control: %w", err)
		}
		defer controller.close()
	}
	report := serveReport{
		Version: server.Version(), Addresses: server.Addresses(), Control: f.control,
	}
	var served <-chan error
	if f.ui != "" {
		report.UI, served = page.serve(ctx, server)
	}
	if err := report.write(stdout, f.json); err != nil {
		return exit.With(exit.Internal, err)
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-served:
		return exit.With(exit.Internal, fmt.Errorf("--ui: %w", err))
	}
}

// setLag makes all servers lag by a time while they follow.
func setLag(server *tcp.Server, lag time.Duration) error {
	if lag == 0 {
		return nil
	}
	for i := range server.Addresses() {
		if err := server.Lag(i, lag); err != nil {
			return err
		}
	}
	return nil
}

// fleetConfig returns the configuration of the servers of interlock launch. They report their
// version in the form that go-zookeeper/zk parses, whose tests start such servers.
func fleetConfig(config tcp.Config) tcp.Config {
	release := config.Cluster.Version
	return tcp.Config{
		Version: tcp.Version(release, true),
		Cluster: simzk.Config{Version: release, SequenceWraps: config.Cluster.SequenceWraps},
	}
}

// write prints the addresses: a line each, or one JSON object on a line.
func (r *serveReport) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	var text strings.Builder
	for i, address := range r.Addresses {
		fmt.Fprintf(&text, "server %d listens on %s\n", i+1, address)
	}
	if r.UI != "" {
		fmt.Fprintf(&text, "live page at %s\n", r.UI)
	}
	_, err := io.WriteString(w, text.String())
	return err
}
