package timers_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-sim/interlock/internal/base/timers"
)

// Next tells every instant at which something fires, whatever kind of timer it is, and none at
// which nothing does.
func TestNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		all := timers.OfBubble()
		if at, ok := all.Next(); ok {
			t.Errorf("without a timer: %v", at)
		}
		wait := make(chan struct{})
		go time.Sleep(5 * time.Second)
		go func() {
			select {
			case <-wait:
			case <-time.After(3 * time.Second):
			}
			<-time.After(1500 * time.Millisecond)
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		context.AfterFunc(ctx, func() {})
		stopped := time.AfterFunc(2*time.Second, func() {})
		moved := time.AfterFunc(time.Second, func() {})
		unheard := time.NewTimer(4 * time.Second)
		synctest.Wait()
		stopped.Stop()
		moved.Reset(6 * time.Second)
		for _, want := range []time.Duration{
			3 * time.Second, 4500 * time.Millisecond, 5 * time.Second, 6 * time.Second,
			7 * time.Second,
		} {
			after, ok := all.Next()
			if at := time.Since(began) + after; !ok || at != want {
				t.Errorf("after %v the next one fires at %v (%v), want %v", time.Since(began), at,
					ok, want)
			}
			time.Sleep(after)
			synctest.Wait()
		}
		if after, ok := all.Next(); ok {
			t.Errorf("a timer of which nobody waits fires after %v", after)
		}
		<-unheard.C
		go func() {
			ticker := time.NewTicker(time.Minute)
			defer ticker.Stop()
			<-ticker.C
			<-ticker.C
		}()
		synctest.Wait()
		for range 2 {
			if after, ok := all.Next(); !ok || after != time.Minute {
				t.Errorf("a ticker fires after %v (%v), want %v", after, ok, time.Minute)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
		}
	})
}
