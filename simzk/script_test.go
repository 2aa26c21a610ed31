package simzk_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/interlock-sim/interlock/history"
	"github.com/interlock-sim/interlock/history/guarantee"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/tree"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// TestScripts runs the scripts in testdata. Each covers one topic and is independent of the others.
// With -rewrite, the test writes the output of the commands into the scripts; then read the
// difference.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("scripts %v, error %v", paths, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				servers, sessionTimeout := 1, 4*time.Second
				switch {
				case strings.HasPrefix(filepath.Base(path), "ensemble-patient-"):
					servers, sessionTimeout = 3, 40*time.Second
				case strings.HasPrefix(filepath.Base(path), "ensemble-five-"):
					servers = 5
				case strings.HasPrefix(filepath.Base(path), "ensemble-"):
					servers = 3
				}
				s := newHarnessWith(t, servers, sessionTimeout)
				defer s.tearDown()
				datadriven.RunTest(t, path, s.runBlock)
				if v := guarantee.NoLostWatch(s.log.Events()); v != nil {
					t.Errorf("the history violates no-lost-watch: %+v", v)
				}
				// A script injects faults without recording them, and the check allows more time
				// after a fault.
				disturbed := append([]history.Event{{
					Kind: history.Fault, Name: "partition-server",
					Relaxes: true,
				}},
					s.log.Events()...)
				if v := guarantee.ZooKeeperConsistency(disturbed); v != nil {
					t.Errorf("the history violates zookeeper-consistency: %+v", v)
				}
			})
		})
	}
}

// runBlock runs the commands of one block of a script, one per line, and returns the output.
func (s *harness) runBlock(t *testing.T, td *datadriven.TestData) string {
	s.output.Reset()
	for line := range strings.Lines(td.FullCmd() + "\n" + td.Input) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if err := s.runCommand(words[0], words[1:]); err != nil {
			td.Fatalf(t, "%s: %v", strings.TrimSpace(line), err)
		}
		s.settle()
	}
	return s.output.String()
}

// runCommand runs one command of a script.
func (s *harness) runCommand(name string, words []string) error {
	if run, ok := s.ensembleCommands()[name]; ok {
		return run(words)
	}
	if len(words) == 0 {
		return fmt.Errorf("unknown command, or no client given")
	}
	if from, to, ok := linkOf(words[0]); ok {
		return s.linkCommand(name, from, to)
	}
	if server, err := strconv.Atoi(strings.TrimPrefix(words[0], "s")); err == nil &&
		words[0][0] == 's' {
		return s.serverCommand(name, server-1)
	}
	conn := s.client(words[0])
	if conn == nil {
		return fmt.Errorf("unknown command or client")
	}
	return s.clientCommand(name, conn, words[1:])
}

// ensembleCommands returns the commands that take neither a client nor a server.
func (s *harness) ensembleCommands() map[string]func(words []string) error {
	return map[string]func(words []string) error{
		"client": s.connect,
		"flow":   func([]string) error { s.flow(); return nil },
		"pass":   s.pass,
		"tree":   func([]string) error { s.printTree("/"); return nil },
		"sessions": func([]string) error {
			s.printf("%d sessions",
				s.cluster.Sessions())
			return nil
		},
		"watches":  func([]string) error { s.printWatches(); return nil },
		"sequence": s.setSequence,
	}
}

// serverCommand runs a command whose first word is a server. Servers are numbered from 0 here.
func (s *harness) serverCommand(name string, server int) error {
	switch name {
	case "apply":
		if _, ok := s.cluster.Applicable(server); !ok {
			return fmt.Errorf("nothing to apply")
		}
		s.cluster.Apply(server)
	case "kill":
		s.cluster.KillServer(server)
	case "start":
		s.cluster.StartServer(server)
	case "log":
		if _, ok := s.cluster.Loggable(server); !ok {
			return fmt.Errorf("nothing to log")
		}
		s.cluster.Log(server)
	case "partition-server":
		s.cluster.PartitionServer(server, true, true)
	case "partition-inbound":
		s.cluster.PartitionServer(server, true, false)
	case "partition-outbound":
		s.cluster.PartitionServer(server, false, true)
	case "fast":
		s.cluster.SetClockRate(server, 200)
	case "slow":
		s.cluster.SetClockRate(server, 50)
	case "pause-server":
		s.cluster.PauseServer(server)
	case "stall-disk":
		s.cluster.StallDisk(server)
	case "wipe":
		s.cluster.WipeServer(server)
	case "resume-disk":
		s.cluster.ResumeDisk(server)
	case "resume-server":
		s.cluster.ResumeServer(server)
	case "heal-server":
		s.cluster.HealServer(server)
	case "leader":
		s.printf("s%d leads: %t, serves: %t", server+1, s.cluster.Leader(server),
			s.cluster.Serving(server))
	default:
		return fmt.Errorf("unknown command")
	}
	return nil
}

// linkOf parses the name of a link between two servers, such as s1-s3. Servers are numbered from 0
// here.
func linkOf(word string) (from, to int, ok bool) {
	_, err := fmt.Sscanf(word, "s%d-s%d", &from, &to)
	return from - 1, to - 1, err == nil
}

// linkCommand runs a command whose first word is a link between two servers.
func (s *harness) linkCommand(name string, from, to int) error {
	switch name {
	case "partition-link-oneway":
		s.cluster.PartitionLink(from, to)
	case "partition-link":
		s.cluster.PartitionLink(from, to)
		s.cluster.PartitionLink(to, from)
	case "heal-link":
		s.cluster.HealLink(from, to)
	default:
		return fmt.Errorf("unknown command")
	}
	return nil
}

// latency is that of the slow directions of scripts.
const latency = 500 * time.Millisecond

// clientCommand runs a command whose first word is a client.
func (s *harness) clientCommand(name string, conn *model.Conn, words []string) error {
	switch name {
	case "call":
		return s.call(conn, words)
	case "serve", "deliver":
		return s.step(name, conn, words)
	case "cut":
		s.cluster.Cut(conn.Link)
	case "reset":
		s.cluster.ResetConnection(conn.Link)
	case "lose-reply":
		s.cluster.LoseReply(conn.Link)
	case "isolate":
		s.cluster.Isolate(conn.Link)
	case "heal":
		s.cluster.Heal(conn.Link)
	case "block", "unblock":
		if len(words) != 1 {
			return fmt.Errorf("the command takes a server")
		}
		server, err := strconv.Atoi(strings.TrimPrefix(words[0], "s"))
		if err != nil {
			return err
		}
		if name == "unblock" {
			s.cluster.UnblockClient(conn.Link, server-1)
		} else {
			s.cluster.BlockClient(conn.Link, server-1)
		}
	case "crash":
		s.cluster.Crash(conn.Link)
	case "stall-requests":
		s.cluster.StallRequests(conn.Link)
	case "stall-replies":
		s.cluster.StallReplies(conn.Link)
	case "slow-link":
		s.cluster.SlowLink(conn.Link, latency, latency)
	case "slow-requests":
		s.cluster.SlowLink(conn.Link, latency, 0)
	case "slow-replies":
		s.cluster.SlowLink(conn.Link, 0, latency)
	case "slow-open":
		if !conn.CanSlowOpen() {
			return fmt.Errorf("the client does not connect")
		}
		s.cluster.SlowOpen(conn.Link)
	case "pause":
		s.cluster.Pause(conn.Link, time.Minute)
	case "resume":
		s.cluster.Resume(conn.Link)
	case "delay-rewatch":
		model.DelayWatches(conn.Link)
	case "slow-client":
		s.cluster.SetClientClock(conn.Link, 50)
	case "fast-client":
		s.cluster.SetClientClock(conn.Link, 200)
	case "events":
		s.printEvents(conn)
	case "state":
		at := ""
		if conn.HasOtherServers() {
			at = fmt.Sprintf(" at s%d", conn.ServerIndex()+1)
		}
		s.printf("c%d: %v%s, session s%d, %d unserved, %d undelivered", conn.Process(),
			conn.State(), at,
			shortSession(conn.SessionID()), conn.Unserved(), conn.Undelivered())
	default:
		return fmt.Errorf("unknown command")
	}
	return nil
}

// connect adds a client, whose name must be the one in the history.
func (s *harness) connect(words []string) error {
	conn := s.join()
	if want := fmt.Sprintf("c%d", conn.Process()); len(words) != 1 || words[0] != want {
		return fmt.Errorf("this client is %s", want)
	}
	return nil
}

// step serves or delivers one message, or the given number of messages.
func (s *harness) step(name string, conn *model.Conn, words []string) error {
	times := 1
	if len(words) > 0 {
		n, err := strconv.Atoi(words[0])
		if err != nil {
			return err
		}
		times = n
	}
	for range times {
		if !s.stepOnce(name, conn) {
			return fmt.Errorf("nothing to %s", name)
		}
		s.settle()
	}
	return nil
}

func (s *harness) stepOnce(name string, conn *model.Conn) bool {
	if name == "serve" {
		if _, ok := conn.Servable(); !ok {
			return false
		}
		s.cluster.Serve(conn.Link)
		return true
	}
	if _, ok := conn.Deliverable(); !ok {
		return false
	}
	s.cluster.Deliver(conn.Link)
	return true
}

// flow serves, delivers and logs everything until no step is left. No time passes, and no server
// but the leader applies anything.
func (s *harness) flow() {
	s.settle()
	for moved := true; moved; {
		moved = false
		for _, conn := range s.clients {
			for _, name := range [...]string{"serve", "deliver"} {
				moved = s.stepOnce(name, conn) || moved
				s.settle()
			}
		}
		for server := range s.cluster.Servers() {
			if _, ok := s.cluster.Loggable(server); ok {
				s.cluster.Log(server)
				moved = true
				s.settle()
			}
		}
	}
}

// pass advances time, stopping at every deadline of the cluster. It delivers no message.
func (s *harness) pass(words []string) error {
	duration, err := time.ParseDuration(strings.Join(words, ""))
	if err != nil {
		return err
	}
	end := s.cluster.Now() + duration
	for s.cluster.Now() < end {
		next := end
		if deadline, ok := s.cluster.Deadline(); ok && deadline < end {
			next = deadline
		}
		time.Sleep(next - s.cluster.Now())
		synctest.Wait()
		s.cluster.Advance(next)
		s.settle()
	}
	return nil
}

// setSequence sets the number of a node's next sequential child, instead of a large number of
// creations.
func (s *harness) setSequence(words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("the command takes a path and a number")
	}
	n, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil {
		return err
	}
	if code := s.cluster.Tree().SetSequence(words[0], int32(n)); code != wire.OK {
		return errors.New(code.String())
	}
	return nil
}

// printTree prints a node and its descendants, sorted.
func (s *harness) printTree(path string) {
	stat, _ := s.cluster.Tree().Stat(path)
	s.printf("%s czxid=%s version=%d%s", path, shortZxid(stat.Czxid), stat.Version,
		owner(stat.EphemeralOwner))
	children := s.cluster.Tree().Children(path, []wire.Identity{tree.Super}).Children
	slices.Sort(children)
	for _, name := range children {
		if path == "/" && name == "zookeeper" {
			continue
		}
		s.printTree(strings.TrimSuffix(path, "/") + "/" + name)
	}
}

// printWatches prints the servers' watches according to the history.
func (s *harness) printWatches() {
	armed := make(map[int32]history.Event)
	for _, e := range s.log.Events() {
		switch e.Kind {
		case history.WatchArmed:
			armed[e.Watch] = e
		case history.WatchFired, history.WatchGone:
			delete(armed, e.Watch)
		}
	}
	s.printf("%d watches", len(armed))
	for number := int32(0); len(armed) > 0; number++ {
		if e, ok := armed[number]; ok {
			s.printf("w%d c%d %s %s", number, e.Process, e.Name, e.Path)
			delete(armed, number)
		}
	}
}

// printEvents prints the unread events of the client's event channel.
func (s *harness) printEvents(conn *model.Conn) {
	for {
		select {
		case e, open := <-conn.Events():
			if !open {
				s.printf("c%d has no more events", conn.Process())
				return
			}
			s.printf("c%d event %s", conn.Process(), renderEvent(e))
		default:
			return
		}
	}
}
