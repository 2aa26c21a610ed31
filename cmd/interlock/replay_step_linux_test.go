package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a pseudo-terminal: ours and the program's.
func openTerminal(t *testing.T) (ours, its *os.File) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there is no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { ours.Close() })
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	its, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(its.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Row: 40, Col: 140}); err != nil {
		t.Fatal(err)
	}
	return ours, its
}

// A terminal shows a schedule step by step until a key or a signal ends the program.
func TestReplayStepInTerminal(t *testing.T) {
	t.Parallel()
	path := saveNoRecheck(t)
	for _, end := range []string{"q", "\x03", "signal"} {
		goThrough(t, "server-mutual-exclusion", end, "replay", path, "--step")
	}
}

// goThrough goes to the violation of a schedule in a terminal, and ends the program.
func goThrough(t *testing.T, violated, end string, arguments ...string) {
	t.Helper()
	executable, err := exec.LookPath("interlock")
	if err != nil {
		t.Fatal(err)
	}
	ours, its := openTerminal(t)
	command := exec.Command(executable, arguments...)
	name, value := raceOptions()
	command.Env = append(os.Environ(), "TERM=xterm", name+"="+value)
	command.Stdin, command.Stdout, command.Stderr = its, its, its
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	its.Close()
	screen := &screen{t: t, from: ours}
	screen.await("step 0, ")
	screen.press("v")
	screen.await("VIOLATION " + violated)
	if end == "signal" {
		if err := command.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	} else {
		screen.press(end)
	}
	rest, _ := io.ReadAll(ours) // It ends with an error once the program has closed its end.
	if err := command.Wait(); err != nil {
		t.Errorf("ended by %q: %v\n%s", end, err, rest)
	}
}

// A screen is our end of a terminal.
type screen struct {
	t    *testing.T
	from *os.File
	text string
}

// await reads until the program has written the text.
func (s *screen) await(text string) {
	s.t.Helper()
	buffer := make([]byte, 4096)
	for !strings.Contains(s.text, text) {
		n, err := s.from.Read(buffer)
		if err != nil {
			s.t.Fatalf("%v before %q:\n%s", err, text, s.text)
		}
		s.text += string(buffer[:n])
	}
}

// press presses a key.
func (s *screen) press(key string) {
	s.t.Helper()
	if _, err := s.from.WriteString(key); err != nil {
		s.t.Fatal(err)
	}
}
