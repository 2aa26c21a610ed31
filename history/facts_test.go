package history_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/interlock-sim/interlock/history"
)

// A log that gathers facts says of each child in a listing who created it and whether it exists.
func TestFactsOfChildren(t *testing.T) {
	children := func() *history.Facts {
		return &history.Facts{Children: []history.Child{
			{Name: "old"}, {Name: "a"}, {Name: "b"}, {Name: "again"}, {Name: "gone"},
		}}
	}
	var log history.Log
	log.GatherFacts(true)
	for _, e := range []history.Event{
		nodeEvent(history.NodeCreated, 1, "/l/a", 1), nodeEvent(history.NodeCreated, 2, "/l/b", 2),
		nodeEvent(history.NodeCreated, 1, "/l/again", 3), nodeEvent(history.NodeCreated, 1, "/a", 4),
		nodeEvent(history.NodeDeleted, 2, "/l/b", 5), nodeEvent(history.NodeDeleted, 1, "/l/again", 6),
		nodeEvent(history.NodeCreated, 3, "/l/again", 7),
		nodeEvent(history.NodeDeleted, 2, "/l/gone", 8),
		{Kind: history.Reply, Process: 3, Op: "children", Path: "/l", Facts: children()},
	} {
		log.Append(e)
	}
	want := []history.Child{
		{Name: "old", Live: true},
		{Name: "a", Process: 1, Live: true},
		{Name: "b", Process: 2},
		{Name: "again", Process: 3, Live: true},
		{Name: "gone"},
	}
	if got := log.Events()[8].Facts.Children; !reflect.DeepEqual(got, want) {
		t.Errorf("children %+v, want %+v", got, want)
	}

	// Reading a history changes nothing, although its log gathers no facts.
	var file bytes.Buffer
	if err := log.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, err := history.Read(&file)
	if err != nil || !reflect.DeepEqual(read.Events(), log.Events()) {
		t.Errorf("read %+v, error %v", read.Events(), err)
	}
}

// The facts of a listing without children differ from no facts.
func TestFactsOfNoChildren(t *testing.T) {
	log := history.NewLog([]history.Event{
		{Kind: history.Reply, Facts: &history.Facts{Children: []history.Child{}}},
		{Kind: history.Reply, Facts: &history.Facts{Data: "x"}},
	})
	var file bytes.Buffer
	if err := log.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, err := history.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	if e := read.Events(); e[0].Facts.Children == nil || e[1].Facts.Children != nil {
		t.Errorf("read %+v and %+v", e[0].Facts, e[1].Facts)
	}
}

func TestSetWaits(t *testing.T) {
	waits := []history.Wait{{Process: 2, On: "select", Line: "billing/lock.go:42"}}
	var log history.Log
	log.SetWaits(waits)
	log.Append(history.Event{Kind: history.Tick})
	log.SetWaits(waits)
	if facts := log.Events()[0].Facts; facts != nil {
		t.Errorf("a log that gathers no facts has %+v", facts)
	}
	log.GatherFacts(true)
	shared := &history.Facts{Data: "x"}
	log.Append(history.Event{Kind: history.Reply, Facts: shared})
	hash := log.Hash()
	log.SetWaits(waits)
	if facts := log.Events()[1].Facts; facts.Data != "x" || !reflect.DeepEqual(facts.Waits, waits) {
		t.Errorf("facts %+v", facts)
	}
	if shared.Waits != nil || log.Hash() != hash {
		t.Error("waits change the facts of others, or the trace hash")
	}
}

func nodeEvent(kind history.Kind, process int32, path string, zxid int64) history.Event {
	return history.Event{
		Kind: kind, Process: process, Path: path, Zxid: zxid, Session: int64(process),
	}
}
