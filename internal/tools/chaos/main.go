// Command chaos runs client processes against a ZooKeeper ensemble of Debian's package, kills and
// pauses servers and clients, disturbs connections and ends sessions, and counts how often two
// processes were inside the critical section. It compares package lock with zk.Lock of
// go-zookeeper/zk: both get the same faults.
//
//	go run ./internal/tools/chaos [-duration 5m] [-seed 1]
//
// The exit status is 1 if package lock has failed, 2 for other errors, and 4 if it is interrupted.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

const (
	ownLock = "lock"
	zkLock  = "zk.Lock"
)

func main() {
	duration := flag.Duration("duration", 5*time.Minute, "time for all runs together")
	seed := flag.Uint64("seed", 1, "seed of the faults")
	servers := flag.Int("size", 3, "number of servers")
	clients := flag.Int("clients", 4, "number of client processes")
	locks := flag.String("locks", ownLock+","+zkLock, "locks to run, one after the other")
	keep := flag.String("out", "", "directory for histories and logs (default: a temporary one)")
	verify := flag.String("interlock", "bin/interlock", "the command that verifies histories")
	number := flag.Int("client", 0, "internal: run a client process")
	addresses := flag.String("servers", "", "internal: servers of a client process")
	referee := flag.String("referee", "", "internal: address of the referee")
	history := flag.String("history", "", "internal: history of a client process")
	flag.Parse()
	if *number > 0 {
		if err := runClient(*number, *locks, strings.Split(*addresses, ","), *referee,
			*history); err != nil {
			fmt.Fprintf(os.Stderr, "client %d: %v\n", *number, err)
			os.Exit(2)
		}
		return
	}
	c := &comparison{
		locks: strings.Split(*locks, ","), servers: *servers, clients: *clients, seed: *seed,
		directory: *keep, interlock: *verify,
	}
	c.each = *duration / time.Duration(len(c.locks))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(c.run(ctx, os.Stdout))
}

// A comparison runs several locks with the same faults.
type comparison struct {
	locks            []string
	servers, clients int
	seed             uint64
	each             time.Duration
	directory        string
	interlock        string
}

// run prints a table and returns the exit status.
func (c *comparison) run(ctx context.Context, out io.Writer) int {
	if err := c.validate(); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		return 2
	}
	if c.directory == "" {
		directory, err := os.MkdirTemp("", "interlock-chaos-*")
		if err != nil {
			fmt.Fprintln(os.Stderr, "chaos:", err)
			return 2
		}
		defer os.RemoveAll(directory)
		c.directory = directory
	}
	plan := newPlan(c.seed, c.each, c.servers, c.clients)
	fmt.Fprintf(out, "%d servers, %d clients, %v for each lock, %d faults, seed %d\n", c.servers,
		c.clients, c.each, len(plan), c.seed)
	rows, status := new(strings.Builder), 0
	table := tabwriter.NewWriter(rows, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "lock\tacquired\toverlaps\texcused\twithout node\tfailed calls\t"+
		"grant after leader's kill\tverify")
	for _, name := range c.locks {
		result, verdict, err := c.measure(ctx, name, plan, out)
		if err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, "chaos:", err)
			return 2
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\n", name, result.acquired,
			result.overlaps, result.excused, result.withoutNode, result.failed,
			median(result.afterKill), verdict)
		if name == ownLock && (result.overlaps > 0 || result.withoutNode > 0 || result.failed > 0 ||
			verdict != verified) {
			status = 1
		}
		for _, failure := range slices.Sorted(maps.Keys(result.failures)) {
			fmt.Fprintf(out, "%s: %d × %s\n", name, result.failures[failure], failure)
		}
		if ctx.Err() != nil {
			fmt.Fprintln(out, "interrupted: the table is incomplete")
			status = 4
			break
		}
	}
	table.Flush()
	fmt.Fprintf(out, "\n%s", rows)
	return status
}

func (c *comparison) validate() error {
	for _, name := range c.locks {
		if name != ownLock && name != zkLock {
			return fmt.Errorf("-locks: unknown lock %q; known are %s and %s", name, ownLock, zkLock)
		}
	}
	switch {
	case c.servers < 1 || c.servers%2 == 0:
		return fmt.Errorf("-size must be odd, not %d", c.servers)
	case c.clients < 2:
		return fmt.Errorf("-clients must be at least 2, not %d", c.clients)
	case c.each < 2*quiet:
		return fmt.Errorf("-duration must be at least %v for %d locks",
			2*quiet*time.Duration(len(c.locks)), len(c.locks))
	}
	if _, err := exec.LookPath(c.interlock); err != nil {
		return fmt.Errorf("-interlock: %w; make chaos builds it", err)
	}
	return nil
}

// measure runs a lock. If the context ends, it returns what was counted, and the context's error.
func (c *comparison) measure(ctx context.Context, name string, plan []fault, out io.Writer,
) (score, string, error) {
	directory := filepath.Join(c.directory, name)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return score{}, "", err
	}
	d := &driver{kind: name, directory: directory, log: out}
	err := d.start(context.WithoutCancel(ctx), c.servers, c.clients)
	if err == nil {
		err = d.run(ctx, plan, c.each)
	}
	result, stopped := d.stop()
	verdict := "-"
	if err = cmp.Or(err, stopped); name == ownLock && err == nil {
		verdict, err = c.verify(directory, out)
	}
	return result, verdict, err
}

// verified is the verdict of histories without a violation.
const verified = "no violation"

// verify judges the histories that a lock's processes have recorded. All processes have the same
// clock.
func (c *comparison) verify(directory string, out io.Writer) (string, error) {
	histories, err := filepath.Glob(filepath.Join(directory, "*.jsonl"))
	if err != nil {
		return "", err
	}
	output, err := exec.Command(c.interlock, append([]string{
		"verify", "--clocks", "1ms",
		"--property", "client-mutual-exclusion,fifo,monotonic-token,loss-notification",
	}, histories...)...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return verified, nil
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		fmt.Fprintf(out, "%s", output)
		return "VIOLATION", nil
	}
	return "", fmt.Errorf("%w\n%s", err, output)
}

func median(all []time.Duration) string {
	if len(all) == 0 {
		return "-"
	}
	slices.Sort(all)
	return fmt.Sprintf("%.1f s, median of %d", all[len(all)/2].Seconds(), len(all))
}
