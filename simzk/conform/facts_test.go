package conform_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/simzk/conform"
)

func golden(t *testing.T, version string) []string {
	t.Helper()
	facts, err := conform.Golden(version)
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

func facts(t *testing.T, address string) []string {
	t.Helper()
	var facts []string
	if err := conform.Facts(t.Context(), address,
		func(fact string) { facts = append(facts, fact) }); err != nil {
		t.Fatal(err)
	}
	return facts
}

// TestFactsOfReal compares the facts of Debian's ZooKeeper 3.8.0 with those on file. It runs twice,
// because a run must not affect the next one.
func TestFactsOfReal(t *testing.T) {
	address := startReal(t)
	want := golden(t, "3.8.0")
	for range 2 {
		for _, d := range conform.Deviations(facts(t, address), want) {
			t.Error(d)
		}
	}
}

func TestGolden(t *testing.T) {
	for version, want := range map[string]int{"3.8.0": 310, "3.9.4": 160} {
		facts := golden(t, version)
		if len(facts) != want || slices.Contains(facts, "") {
			t.Errorf("%d facts of %s, want %d non-empty ones", len(facts), version, want)
		}
	}
	deviations := conform.Deviations(golden(t, "3.9.4"), golden(t, "3.8.0")[:160])
	if len(deviations) != 5 {
		t.Errorf("%d facts differ between the releases, want 5", len(deviations))
	}
	if _, err := conform.Golden("3.4.0"); err == nil {
		t.Error("Golden returns facts of 3.4.0")
	}
}

func TestDeviations(t *testing.T) {
	want := []string{"## a", "one", "## b", "two", "three"}
	got := []string{"## a", "one", "## b", "2"}
	deviations := conform.Deviations(got, want)
	if !slices.Equal(deviations, []conform.Deviation{
		{Line: 4, Section: "b", Got: "2", Want: "two"},
		{Line: 5, Section: "b", Got: "", Want: "three"},
	}) {
		t.Errorf("Deviations: %v", deviations)
	}
	if text := deviations[0].String(); text != "line 4, b:\n  got  2\n  want two" {
		t.Errorf("String: %q", text)
	}
	if deviations := conform.Deviations(want, want); deviations != nil {
		t.Errorf("Deviations of equal facts: %v", deviations)
	}
}

func TestFactsWithoutServer(t *testing.T) {
	address := closedAddress(t)
	err := conform.Facts(t.Context(), address,
		func(fact string) { t.Error("fact without a server:", fact) })
	if err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("Facts without a server: %v", err)
	}
}

func TestFactsCancelled(t *testing.T) {
	address := startReal(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []string
	err := conform.Facts(ctx, address, func(fact string) {
		seen = append(seen, fact)
		if fact == "## sequence" {
			cancel()
		}
	})
	if err != context.Canceled || slices.Contains(seen, "## multi") {
		t.Errorf("Facts returned %v after the section %s", err, seen[len(seen)-1])
	}
	for _, d := range conform.Deviations(facts(t, address), golden(t, "3.8.0")) {
		t.Error("after a cancelled run:", d)
	}
}

// closedAddress returns an address without a listener.
func closedAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}
