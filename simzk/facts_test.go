package simzk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/history"
)

// The facts of a reply are those of the znode, and none of a znode that does not exist.
func TestFactsOfReplies(t *testing.T) {
	for _, tc := range []struct{ call, facts string }{
		{"get /n", `{"exists":true,"stat":{"czxid":2,"mzxid":3,"version":1},"data":"x"}`},
		{"exists /n", `{"exists":true,"stat":{"czxid":2,"mzxid":3,"version":1}}`},
		{"set /n data=y", `{"stat":{"czxid":2,"mzxid":4,"version":2}}`},
		{"get /missing", `{"exists":false}`},
		{"exists /missing", `{"exists":false}`},
		{"set /missing", `null`},
		{"children /n", `{"children":[]}`},
		{"children /missing", `null`},
	} {
		withHarness(t, 1, func(s *harness) {
			s.log.GatherFacts(true)
			for _, call := range []string{"create /n", "set /n data=x", tc.call} {
				s.run(t, "call", append([]string{"c1"}, strings.Fields(call)...)...)
				s.flow()
			}
			facts := "no reply"
			for _, e := range s.log.Events() {
				if e.Kind == history.Reply {
					text, err := json.Marshal(e.Facts)
					if err != nil {
						t.Fatal(err)
					}
					facts = string(text)
				}
			}
			if facts != tc.facts {
				t.Errorf("%s: facts %s, want %s", tc.call, facts, tc.facts)
			}
		})
	}
}

// The facts of a request have the data and the version of each operation.
func TestFactsOfRequests(t *testing.T) {
	withHarness(t, 1, func(s *harness) {
		s.log.GatherFacts(true)
		for _, call := range []string{
			"create /n", "multi set /n data=y, set /n data=z version=1", "set /n data=x version=2",
		} {
			s.run(t, "call", append([]string{"c1"}, strings.Fields(call)...)...)
			s.flow()
		}
		var facts []string
		for _, e := range s.log.Events() {
			if e.Kind == history.Send && e.Op != "create" {
				text, err := json.Marshal(e.Facts)
				if err != nil {
					t.Fatal(err)
				}
				facts = append(facts, string(text))
			}
		}
		want := []string{
			`{"operations":[{"op":"set","path":"/n","data":"y"},` +
				`{"op":"set","path":"/n","version":1,"data":"z"}]}`,
			`{"data":"x","version":2}`,
		}
		for i, text := range want {
			if i >= len(facts) || !strings.HasSuffix(facts[i], text[1:]) {
				t.Errorf("facts %q, want %q", facts, want)
			}
		}
	})
}
