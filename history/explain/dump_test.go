package explain_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/interlock-sim/interlock/scenarios"
	"github.com/interlock-sim/interlock/scenarios/subjects"
)

func TestDump(t *testing.T) {
	name := os.Getenv("LOCK")
	if name == "" {
		t.Skip()
	}
	rec, err := scenarios.ReadRecording("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	subject, err := subjects.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := rec.Scenario(subject)
	if err != nil {
		t.Fatal(err)
	}
	r := scenarios.NewRunner(t)
	r.GatherFacts(true)
	res := r.Run(s, &scenarios.Replay{Deviations: rec.Deviations})
	fmt.Printf("%016x %v\n", res.TraceHash, rec.TraceHash)
	for i := range res.Events {
		e := res.Events[i]
		at := e.At
		e.At = 0
		b, _ := json.Marshal(&e)
		fmt.Printf("%d %v %s\n", i, at, b)
	}
	for _, v := range res.Violations {
		fmt.Printf("%+v\n", v)
	}
}
