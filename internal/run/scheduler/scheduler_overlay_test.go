//go:build interlock_scheduler

package scheduler_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/internal/run/scheduler"
)

// control runs a function in a controlled bubble with the given choices, and the first one where
// they end. It returns all choices as kind:taken/among.
func control(t *testing.T, script []int, f func()) string {
	t.Helper()
	var taken []string
	synctest.Test(t, func(*testing.T) {
		go func() {
			for {
				n, kind := scheduler.Next()
				if kind == scheduler.Done {
					return
				}
				choice := 0
				if n > 1 {
					if len(taken) < len(script) {
						choice = script[len(taken)]
					}
					taken = append(taken, fmt.Sprintf("%d:%d/%d", kind, choice, n))
				}
				scheduler.Take(choice)
			}
		}()
		scheduler.Begin()
		f()
		synctest.Wait()
		scheduler.End()
	})
	return strings.Join(taken, " ")
}

// A locked list is one that goroutines append to.
type locked[T any] struct {
	mu  sync.Mutex
	all []T
}

func (l *locked[T]) add(item T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, item)
}

// A select takes the chosen case among those that are ready.
func TestScheduledSelect(t *testing.T) {
	for script, want := range map[int]string{0: "a", 1: "b", 2: "c"} {
		got := ""
		choices := control(t, []int{script}, func() {
			go func() {
				a, b, c, d := make(chan int, 1), make(chan int, 1), make(chan int), make(chan int)
				a <- 1
				b <- 1
				close(c)
				select {
				case <-a:
					got = "a"
				case <-d:
					got = "d"
				case <-b:
					got = "b"
				case <-c:
					got = "c"
				}
			}()
		})
		if got != want || choices != fmt.Sprintf("2:%d/3", script) {
			t.Errorf("took %s by %s, want %s", got, choices, want)
		}
	}
}

// The goroutines that one event wakes run in the chosen order.
func TestScheduledWakeOrder(t *testing.T) {
	orders := make(map[string]bool)
	for a := range 3 {
		for b := range 2 {
			var order locked[string]
			control(t, []int{0, 0, a, b}, func() {
				start := make(chan struct{})
				for _, name := range []string{"x", "y", "z"} {
					go func() {
						<-start
						order.add(name)
					}()
				}
				synctest.Wait()
				close(start)
			})
			orders[strings.Join(order.all, "")] = true
		}
	}
	if len(orders) != 6 {
		t.Errorf("orders %v", orders)
	}
}

// A goroutine may sleep while it has a mutex for which others wait.
func TestScheduledMutex(t *testing.T) {
	var order []string
	control(t, []int{1}, func() {
		var mu sync.Mutex
		var rw sync.RWMutex
		for _, name := range []string{"x", "y", "z"} {
			go func() {
				mu.Lock()
				rw.Lock()
				time.Sleep(time.Second)
				order = append(order, name)
				rw.Unlock()
				mu.Unlock()
				rw.RLock()
				time.Sleep(time.Second)
				rw.RUnlock()
			}()
		}
		time.Sleep(time.Minute)
	})
	if got := strings.Join(order, ""); got != "yxz" {
		t.Errorf("order %s", got)
	}
}

// Timers of one instant fire in the order of their creation.
func TestScheduledTimers(t *testing.T) {
	for range 50 {
		var order locked[int]
		control(t, nil, func() {
			for i := range 5 {
				time.AfterFunc(time.Second, func() { order.add(i) })
			}
			time.Sleep(2 * time.Second)
		})
		if !slices.Equal(order.all, []int{0, 1, 2, 3, 4}) {
			t.Fatalf("order %v", order.all)
		}
	}
}
