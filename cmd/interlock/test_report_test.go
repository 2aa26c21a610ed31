package main

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/cmd/internal/judge"
)

// A line says what is going on once nothing was printed for two seconds. Elsewhere than on a
// terminal it is printed once.
func TestActivity(t *testing.T) {
	for terminal, want := range map[bool]string{
		true: "ok\n\r\x1b[K3s: building and testing ./lease" +
			"\r\x1b[K4s: building and testing ./lease\r\x1b[Kend\n",
		false: "ok\nbuilding and testing ./lease\nend\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			var shown bytes.Buffer
			progress := judge.NewProgress(&shown)
			progress.Terminal = terminal
			a := watch(&outputs{text: &shown, progress: progress}, "./lease")
			time.Sleep(time.Second)
			a.Write([]byte("ok\n"))
			time.Sleep(3*time.Second + time.Millisecond)
			a.Write([]byte("end\n"))
			a.end()
			time.Sleep(time.Minute)
			if got := shown.String(); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
