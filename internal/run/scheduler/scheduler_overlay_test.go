//go:build interlock_scheduler

package scheduler_test

import (
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// explore runs a function in a controlled bubble with all choices, one after the other, and returns
// the results.
func explore(t *testing.T, f func() string) map[string]bool {
	t.Helper()
	results := make(map[string]bool)
	for script := []int{}; ; {
		var result string
		taken := strings.Fields(control(t, script, func() { result = f() }))
		results[result] = true
		if len(taken) > 100 {
			t.Fatalf("no end of choices: %v", taken)
		}
		script = script[:0]
		var choices []int
		for _, choice := range taken {
			var kind, at, among int
			fmt.Sscanf(choice, "%d:%d/%d", &kind, &at, &among)
			script, choices = append(script, at), append(choices, among)
		}
		for len(script) > 0 && script[len(script)-1]+1 == choices[len(script)-1] {
			script = script[:len(script)-1]
		}
		if len(script) == 0 {
			return results
		}
		script[len(script)-1]++
	}
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
	orders := explore(t, func() string {
		var order locked[string]
		start := make(chan struct{})
		for _, name := range []string{"x", "y", "z"} {
			go func() {
				<-start
				order.add(name)
			}()
		}
		time.Sleep(time.Second)
		close(start)
		time.Sleep(time.Second)
		return strings.Join(order.all, "")
	})
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

// twice performs an operation in two goroutines, each before it notes its name a second time, and
// returns the order of the names.
func twice(operation func()) func() string {
	return func() string {
		var order []string
		for _, name := range []string{"x", "y"} {
			go func() {
				order = append(order, name)
				operation()
				order = append(order, name)
			}()
		}
		time.Sleep(time.Second)
		return strings.Join(order, "")
	}
}

// global is a mutex of which the runtime does not know by its address that runs use it.
var global sync.RWMutex

// Before an operation by which goroutines synchronize, another may run.
func TestScheduledSwitchPoints(t *testing.T) {
	for name, prepare := range map[string]func() (operation func()){
		"Mutex": func() func() {
			var mu sync.Mutex
			return func() { mu.Lock(); defer mu.Unlock() }
		},
		"Mutex.TryLock": func() func() {
			var mu sync.Mutex
			return func() {
				if mu.TryLock() {
					mu.Unlock()
				}
			}
		},
		"Locker": func() func() {
			var mu sync.RWMutex
			var locker sync.Locker = mu.RLocker()
			return func() { locker.Lock(); locker.Unlock() }
		},
		"RWMutex":       func() func() { return func() { global.Lock(); global.Unlock() } },
		"RWMutex.RLock": func() func() { return func() { global.RLock(); global.RUnlock() } },
		"Once": func() func() {
			var once sync.Once
			return func() { once.Do(func() {}) }
		},
		"OnceFunc": func() func() { return sync.OnceFunc(func() {}) },
		"Cond": func() func() {
			cond := sync.NewCond(new(sync.Mutex))
			return cond.Signal
		},
		"Map": func() func() {
			var m sync.Map
			return func() { m.Store(1, 1) }
		},
		"atomic.Int64": func() func() {
			var n atomic.Int64
			return func() { n.Add(1) }
		},
		"atomic.Pointer": func() func() {
			var p atomic.Pointer[int]
			return func() { p.Load() }
		},
		"atomic.Value": func() func() {
			var v atomic.Value
			return func() { v.Load() }
		},
		"select": func() func() {
			c := make(chan int, 2)
			return func() {
				select {
				case <-c:
				default:
				}
			}
		},
		"select of two": func() func() {
			c, d := make(chan int), make(chan int)
			return func() {
				select {
				case <-c:
				case <-d:
				default:
				}
			}
		},
		"close": func() func() { return func() { close(make(chan int)) } },
		"context": func() func() {
			ctx, cancel := context.WithCancel(context.Background())
			return func() { cancel(); _ = ctx.Err() }
		},
	} {
		got := explore(t, func() string { return twice(prepare())() })
		for _, want := range []string{"xxyy", "xyxy", "xyyx", "yyxx", "yxxy", "yxyx"} {
			if !got[want] {
				t.Errorf("%s: no order %s: %v", name, want, got)
			}
		}
	}
	if got := explore(t, twice(func() {})); len(got) != 2 {
		t.Errorf("orders without an operation: %v", got)
	}
}

// A writer waits for a reader that is not running, also on a mutex of a package.
func TestScheduledReaders(t *testing.T) {
	got := explore(t, func() string {
		var order []string
		go func() {
			global.RLock()
			time.Sleep(time.Second)
			order = append(order, "r")
			global.RUnlock()
		}()
		go func() {
			global.Lock()
			time.Sleep(time.Second)
			order = append(order, "w")
			global.Unlock()
		}()
		time.Sleep(time.Minute)
		return strings.Join(order, "")
	})
	if !got["rw"] || !got["wr"] || len(got) != 2 {
		t.Errorf("orders %v", got)
	}
}

// The goroutine of a timer or a context competes with those of the goroutine that made it, and not
// with those of other groups.
func TestScheduledGroups(t *testing.T) {
	for name, after := range map[string]func(f func()){
		"AfterFunc": func(f func()) { time.AfterFunc(time.Second, f) },
		"context": func(f func()) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			context.AfterFunc(ctx, func() { cancel(); f() })
		},
		"other labels": func(f func()) {
			go pprof.Do(context.Background(), pprof.Labels("a", "b"), func(context.Context) {
				time.Sleep(time.Second)
				f()
			})
		},
	} {
		for _, same := range []bool{true, false} {
			got := explore(t, func() string {
				var order []string
				go func() {
					scheduler.Join(1)
					after(func() { order = append(order, "f") })
					if !same {
						scheduler.Join(2)
					}
					time.Sleep(time.Second)
					order = append(order, "g")
				}()
				time.Sleep(2 * time.Second)
				return strings.Join(order, "")
			})
			if same && !(got["fg"] && got["gf"]) || !same && len(got) > 1 {
				t.Errorf("%s, same group %v: orders %v", name, same, got)
			}
		}
	}
}

// A loop that waits for an atomic variable ends.
func TestScheduledSpin(t *testing.T) {
	control(t, nil, func() {
		var set atomic.Bool
		go func() {
			for !set.Load() {
			}
		}()
		go set.Store(true)
	})
}

// ranged keeps a map on the heap. The seed of one on the stack is random.
var ranged map[string]bool

// Each run ranges over maps in the same order.
func TestScheduledMaps(t *testing.T) {
	var first string
	for n := range 20 {
		var order []string
		control(t, nil, func() {
			parent, cancel := context.WithCancel(context.Background())
			m := make(map[string]bool)
			ranged = m
			for i := range 100 {
				m[fmt.Sprint("node", i)] = true
			}
			for key := range m {
				order = append(order, key)
			}
			for i := range 5 {
				ctx, release := context.WithCancel(parent)
				defer release()
				go func() { <-ctx.Done(); order = append(order, fmt.Sprint(i)) }()
			}
			synctest.Wait()
			cancel()
			synctest.Wait()
		})
		if got := strings.Join(order, " "); n == 0 {
			first = got
		} else if got != first {
			t.Fatalf("run %d: %s, not %s", n, got, first)
		}
	}
}
