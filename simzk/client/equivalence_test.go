package client_test

import (
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/client"
	"github.com/interlock-sim/interlock/simzk/client/model"
	"github.com/interlock-sim/interlock/simzk/client/real"
)

// The model client is equivalent to the real one: the same schedule gives the same history, and the
// same result of every call at the same step.
func TestModelClientEquivalence(t *testing.T) {
	if real.RaceDetector {
		t.Skip("the race detector shuffles the goroutines of the real client: without it this " +
			"test runs")
	}
	rapid.Check(t, func(rt *rapid.T) {
		p := genSchedule.Draw(rt, "schedule")
		ofModel, ofReal := runModel(t, p), runReal(t, p)
		if found := difference(ofModel, ofReal); found != "" {
			rt.Fatal(found)
		}
	})
}

func runModel(t *testing.T, p *schedule) *transcript {
	return runSchedule(t, p, func(c *simzk.Cluster) (client.Client, *simzk.Link) {
		conn := model.Connect(c)
		return conn, conn.Link
	})
}

func runReal(t *testing.T, p *schedule) *transcript {
	defer real.Determinize()()
	return runSchedule(t, p, func(c *simzk.Cluster) (client.Client, *simzk.Link) {
		conn, err := real.Connect(c)
		if err != nil {
			panic(err)
		}
		return conn, conn.Link()
	})
}

// runSchedule runs a schedule in a bubble. It carries a panic out of the bubble itself, as the
// testing package would end the program.
func runSchedule(t *testing.T, p *schedule, join func(*simzk.Cluster) (client.Client,
	*simzk.Link),
) *transcript {
	result := &transcript{schedule: p}
	var thrown any
	synctest.Test(t, func(*testing.T) {
		defer func() { thrown = recover() }()
		s := newExecution(p, join)
		defer func() {
			s.finish()
			result.lines, result.events = s.lines, s.log.Events()
		}()
		for s.step = range p.steps {
			s.do(&p.steps[s.step])
		}
	})
	if thrown != nil {
		panic(thrown)
	}
	return result
}
