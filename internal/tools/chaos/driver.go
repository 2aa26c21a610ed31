package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/internal/base/processgroup"
	"github.com/interlock-sim/interlock/simzk/conform"
)

// A driver runs the clients of one lock against an ensemble, and executes a plan of faults.
type driver struct {
	kind      string
	directory string // for histories
	log       io.Writer

	servers  []*conform.RealServer
	clients  []*process
	referee  *referee
	struck   map[time.Duration]*conform.RealServer // by the time of the fault
	restarts []func() error                        // of servers, which wait for their start
	started  int                                   // processes
}

// A process is a client process with its link.
type process struct {
	link    *link
	servers []string // the addresses of the link
	command *exec.Cmd
	input   io.Closer // its end ends the process
}

// start starts the ensemble, the referee and the clients.
func (d *driver) start(ctx context.Context, servers, clients int) (err error) {
	if d.servers, err = conform.NewRealEnsemble(d.directory, servers); err != nil {
		return err
	}
	if err := conform.StartAll(ctx, d.servers); err != nil {
		return err
	}
	var addresses []string
	for _, s := range d.servers {
		addresses = append(addresses, s.Address)
	}
	// The referee's connection is its own, not through a link.
	nodes, _, err := zk.Connect(addresses, sessionTimeout, zk.WithLogger(silence{}))
	if err != nil {
		return err
	}
	if d.referee, err = newReferee(nodes); err != nil {
		nodes.Close()
		return err
	}
	d.struck = make(map[time.Duration]*conform.RealServer)
	for range clients {
		p := &process{link: newLink()}
		for _, address := range addresses {
			own, err := p.link.listen(address)
			if err != nil {
				return err
			}
			p.servers = append(p.servers, own)
		}
		d.clients = append(d.clients, p)
		if err := d.startClient(len(d.clients) - 1); err != nil {
			return err
		}
	}
	return nil
}

// startClient starts a process for a client, with a history of its own.
func (d *driver) startClient(i int) error {
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	d.started++
	p := d.clients[i]
	p.command = exec.Command(executable, "-client", fmt.Sprint(i+1), "-locks", d.kind,
		"-servers", strings.Join(p.servers, ","),
		"-referee", d.referee.listener.Addr().String(),
		"-history", filepath.Join(d.directory, fmt.Sprintf("%d.jsonl", d.started)))
	p.command.Stderr = d.log
	if p.input, err = p.command.StdinPipe(); err != nil {
		return err
	}
	return p.command.Start()
}

// run executes a plan, and then waits until its end. It returns early if the context ends.
func (d *driver) run(ctx context.Context, plan []fault, length time.Duration) error {
	began := time.Now()
	for _, m := range append(moments(plan), moment{at: length}) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(began.Add(m.at))):
		}
		if m.at == length {
			return nil
		}
		if !m.ends {
			fmt.Fprintf(d.log, "%7.1fs  %s: %v\n", m.at.Seconds(), d.kind, m.fault)
		}
		if err := d.execute(ctx, m); err != nil {
			return fmt.Errorf("%v: %w", m.fault, err)
		}
	}
	return nil
}

func (d *driver) execute(ctx context.Context, m moment) error {
	if m.fault.kind.strikesServer() && !m.ends {
		if err := d.awaitRestarts(); err != nil {
			return err
		}
	}
	switch f := m.fault; {
	case f.kind == killLeader || f.kind == killServer:
		return d.killOrStart(ctx, m)
	case f.kind.strikesServer() && m.ends:
		return d.struck[f.at].Resume()
	case f.kind.strikesServer():
		d.struck[f.at] = d.server(f)
		return d.struck[f.at].Pause()
	case f.kind == endSession && m.ends:
		return nil
	case f.kind == endSession:
		d.referee.excuse(f.target+1, 0)
		d.endSession(f.target)
		return nil
	case f.kind == killClient:
		return d.killOrRestart(m)
	case f.kind == pauseClient:
		return d.pauseOrResume(m)
	}
	d.disturb(m)
	return nil
}

// killOrStart kills a server, or starts it again without waiting for it.
func (d *driver) killOrStart(ctx context.Context, m moment) error {
	if !m.ends {
		s := d.server(m.fault)
		if m.fault.kind == killLeader && s.Leads() {
			d.referee.leaderKilled()
		}
		d.struck[m.fault.at] = s
		return s.Kill()
	}
	s, failure := d.struck[m.fault.at], make(chan error, 1)
	go func() { failure <- s.Start(ctx) }()
	d.restarts = append(d.restarts, func() error { return <-failure })
	return nil
}

// awaitRestarts waits until no server is starting any more.
func (d *driver) awaitRestarts() (failure error) {
	for _, await := range d.restarts {
		failure = errors.Join(failure, await())
	}
	d.restarts = nil
	return failure
}

// server returns the server that a fault strikes.
func (d *driver) server(f fault) *conform.RealServer {
	if f.kind == killLeader || f.kind == pauseLeader {
		for _, s := range d.servers {
			if s.Leads() {
				return s
			}
		}
	}
	return d.servers[f.target]
}

// endSession ends the session of a client on the first server that answers.
func (d *driver) endSession(client int) {
	for _, s := range d.servers {
		if endServerSession(s.Address, d.clients[client].link.latest()) == nil {
			return
		}
	}
}

// killOrRestart kills a client, or starts a process in its place.
func (d *driver) killOrRestart(m moment) error {
	if m.ends {
		return d.startClient(m.fault.target)
	}
	return d.clients[m.fault.target].kill()
}

func (d *driver) pauseOrResume(m moment) error {
	process := d.clients[m.fault.target].command.Process
	if m.ends {
		return processgroup.Resume(process)
	}
	d.referee.excuse(m.fault.target+1, m.fault.duration)
	return processgroup.Pause(process)
}

// disturb cuts or stalls the connections of a client, or heals them.
func (d *driver) disturb(m moment) {
	l := d.clients[m.fault.target].link
	switch m.fault.kind {
	case cut:
		l.cut(!m.ends)
	case stall:
		l.stall(!m.ends, requests, replies)
	case stallRequests:
		l.stall(!m.ends, requests)
	case stallReplies:
		l.stall(!m.ends, replies)
	case slowLink, slowOpen:
		if m.ends {
			l.slow(0, 0)
		} else if m.fault.kind == slowLink {
			l.slow(sessionTimeout/40, 0)
		} else {
			l.slow(0, sessionTimeout/4)
			l.cut(true) // The client connects again.
			l.cut(false)
		}
	}
}

// exitTimeout is the time that a client has to end.
const exitTimeout = 15 * time.Second

// stop ends the clients, then the referee and the servers, and returns the score.
func (d *driver) stop() (score, error) {
	var failure error
	for _, p := range d.clients {
		p.link.cut(false)
		p.link.stall(false, requests, replies)
		if p.command != nil && p.command.Process != nil {
			failure = errors.Join(failure, ignoreDone(processgroup.Resume(p.command.Process)))
		}
	}
	for _, p := range d.clients {
		failure = errors.Join(failure, p.end())
		p.link.close()
	}
	var result score
	if d.referee != nil {
		result = d.referee.close()
	}
	for _, s := range d.servers {
		s.Resume() // It may not run.
	}
	failure = errors.Join(failure, d.awaitRestarts())
	for _, s := range d.servers {
		failure = errors.Join(failure, s.Kill())
	}
	return result, failure
}

// end asks the process to end, and kills it if it does not.
func (p *process) end() error {
	if p.input == nil {
		return nil
	}
	p.input.Close()
	timer := time.AfterFunc(exitTimeout, func() { p.command.Process.Kill() })
	defer timer.Stop()
	if err := p.command.Wait(); err != nil && !wasKilled(err) {
		return fmt.Errorf("client: %w", err)
	}
	return nil
}

// kill ends the process without notice.
func (p *process) kill() error {
	err := ignoreDone(p.command.Process.Kill())
	p.command.Wait()
	p.input = nil
	return err
}

func wasKilled(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
