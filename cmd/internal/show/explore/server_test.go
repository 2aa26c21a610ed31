package explore_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-sim/interlock/cmd/internal/show/explore"
	"github.com/interlock-sim/interlock/internal/run/engine"
)

// The answer to scenario has one server if the scenario sets none.
func TestScenarioFormat(t *testing.T) {
	for servers, want := range map[int]string{0: "1", 3: "3"} {
		s := newScenario(t, "textbook", 2, "cut@hold=1,any=2")
		s.Servers, s.Subject.Summary = servers, "a lock"
		c := newClient(t, explore.New(engine.NewRunner(t), s), t.TempDir())
		r, err := http.Get(c.url + "api/scenario")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), s.String())
		if !strings.HasPrefix(string(text), `{"lock":"textbook","summary":"a lock","claims":["`) ||
			rest != `","clients":2,"cycles":1,"faults":"cut@hold=1,any=2","servers":`+want+
				`,"start":{"length":0,"deviations":[]}}`+"\n" {
			t.Errorf("%s", text)
		}
	}
}
