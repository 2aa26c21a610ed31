package tcp_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tcp"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// sessionPattern matches the id of a session.
const sessionPattern = `0x1[0-9a-f]{14}`

// noSessionPattern matches a connection without a session.
const noSessionPattern = ` /127\.0\.0\.1:\d+\[0\]\(queued=0,recved=1,sent=0\)\n`

// TestFourLetterWords checks the responses of a server with clients, nodes and watches. The
// patterns were compared with the responses of a real server of release 3.8.0.
func TestFourLetterWords(t *testing.T) {
	_, address := single(t, simzk.Config{})
	a, _ := open(t, address, 10*time.Second)
	b, _ := open(t, address, 8*time.Second)
	a.call(create("/a", []byte("x"), wire.Persistent))
	a.call(create("/e", nil, wire.Ephemeral))
	b.call(create("/f", nil, wire.Ephemeral))
	b.call(wire.Request{Op: wire.OpGetData, Path: "/a", Watch: true})
	b.call(wire.Request{Op: wire.OpGetChildren, Path: "/a", Watch: true})
	a.call(wire.Request{Op: wire.OpExists, Path: "/nope", Watch: true})
	a.call(wire.Request{Op: wire.OpGetData, Path: "/a", Watch: true})

	client := func(timeout int, last string) string {
		return ` /127\.0\.0\.1:\d+\[1\]\(queued=0,recved=\d,sent=\d,sid=` + sessionPattern +
			`,lop=` +
			last +
			`,est=\d{13},to=` +
			map[int]string{10: "10000", 8: "8000"}[timeout] +
			`,lcxid=0x\d,lzxid=0x5,lresp=\d+,llat=\d+,minlat=0,avglat=\d+,maxlat=\d+\)\n`
	}
	const date = `\w{3} \w{3} \d\d \d\d:\d\d:\d[02468] UTC \d{4}` // multiples of a tick
	const state = `Latency min/avg/max: 0/\d+\.\d+/\d+\nReceived: \d+\nSent: \d+\n` +
		`Connections: 3\nOutstanding: 0\nZxid: 0x5\nMode: standalone\nNode count: 8\n`
	const version = `Zookeeper version: 3\.8\.0-interlock, built on 2022-02-25 08:49 UTC\n`
	for _, test := range []struct{ word, want string }{
		{"ruok", `imok`},
		{"isro", `rw`},
		{"gtmk", `306`},
		{"stmk\x00\x00\x00\x00\x00\x00\x01\x00", `256`},
		{"dirs", `datadir_size: 0\nlogdir_size: 0\n`},
		{"hash", ``},
		{"srvr", version + state},
		{"stat", version + `Clients:\n( /127\.0\.0\.1:\d+\[1\]\(queued=0,recved=\d,sent=\d\)\n){2}` +
			noSessionPattern + `\n` + state},
		{"conf", `clientPort=\d+\nsecureClientPort=-1\ndataDir=\(memory\)\ndataDirSize=0\n` +
			`dataLogDir=\(memory\)\ndataLogSize=0\ntickTime=2000\nmaxClientCnxns=0\n` +
			`minSessionTimeout=4000\nmaxSessionTimeout=40000\n` +
			`clientPortListenBacklog=-1\nserverId=0\n`},
		{"cons", client(10, "GETD") + client(8, "GETC") + noSessionPattern + `\n`},
		{"dump", `SessionTracker dump:\nSession Sets \([12]\)/\(2\):\n(\d expire at ` + date +
			`:\n(\t` +
			sessionPattern + `\n)+)+` +
			`ephemeral nodes dump:\nSessions with Ephemerals \(2\):\n` + sessionPattern +
			`:\n\t/e\n` +
			sessionPattern +
			`:\n\t/f\n` +
			`Connections dump:\nConnections Sets \([123]\)/\(3\):\n(\d expire at ` + date +
			`:\n(\tip: /127\.0\.0\.1:\d+ sessionId: (` + sessionPattern + `|0x0)\n)+)+`},
		{"wchs", `2 connections watching 2 paths\nTotal watches:3\n`},
		{"wchc", sessionPattern + `\n\t/a\n\t/nope\n` + sessionPattern + `\n\t/a\n\n`},
		{"wchp", `/a\n\t` + sessionPattern + `\n\t` + sessionPattern + `\n/nope\n\t` +
			sessionPattern + `\n\n`},
		{"envi", `Environment:\n` +
			`zookeeper\.version=3\.8\.0-interlock, built on 2022-02-25 08:49 UTC\n` +
			`host\.name=.*\ngo\.version=go.*\n(.*=.*\n)*`},
		{"crst", `Connection stats reset\.\n`},
		{"cons", `( /127\.0\.0\.1:\d+\[1\]\(queued=0,recved=0,sent=0,sid=` + sessionPattern +
			`,lop=NA,est=\d{13},to=\d+,` +
			`lzxid=0xf{16},lresp=0,llat=0,minlat=0,avglat=0,maxlat=0\)\n){2}` + noSessionPattern +
			`\n`},
		{"srst", `Server stats reset\.\n`},
		{"srvr", version + `Latency min/avg/max: 0/0\.0/0\nReceived: 1\nSent: 1\n(?s:.*)`},
	} {
		answer := fourLetterWord(t, address, test.word)
		if !regexp.MustCompile(`\A` + test.want + `\z`).MatchString(answer) {
			t.Errorf("%s: %q does not match %q", test.word, answer, test.want)
		}
	}
}

// TestMonitor checks the metrics of mntr.
func TestMonitor(t *testing.T) {
	s := start(t, 3, tcp.Config{})
	a, _ := open(t, s.Addresses()[0], 10*time.Second)
	a.call(create("/e", nil, wire.Ephemeral))
	a.call(wire.Request{Op: wire.OpGetData, Path: "/e", Watch: true})
	for i, lines := range [][]string{
		{
			"server_state\tfollower", "peer_state\tfollowing - broadcast", "quorum_size\t3",
			"ephemerals_count\t1", "znode_count\t6",
			"watch_count\t1", "global_sessions\t1", "num_alive_connections\t2",
			"bytes_received_count\t",
		},
		{
			"server_state\tfollower", "watch_count\t0", "num_alive_connections\t1",
			"packets_received\t1",
			"packets_sent\t0",
		},
		{
			"server_state\tleader", "peer_state\tleading - broadcast", "synced_followers\t2",
			"ephemerals_count\t1",
		},
	} {
		answer := fourLetterWord(t, s.Addresses()[i], "mntr")
		for _, line := range lines {
			if !strings.Contains(answer, "zk_"+line) {
				t.Errorf("server %d: no %q in\n%s", i+1, line, answer)
			}
		}
	}
	for i, line := range []string{"Mode: follower\n", "Mode: follower\n", "Mode: leader\n"} {
		if answer := fourLetterWord(t, s.Addresses()[i], "srvr"); !strings.Contains(answer, line) {
			t.Errorf("server %d: no %q in\n%s", i+1, line, answer)
		}
	}
	if answer := fourLetterWord(t, s.Addresses()[0], "dump"); !strings.Contains(answer,
		"\nGlobal Sessions(1):\n0x1") {
		t.Errorf("dump of a follower:\n%s", answer)
	}
	if answer := fourLetterWord(t, s.Addresses()[2], "conf"); !strings.Contains(answer,
		"serverId=3\n") {
		t.Errorf("configuration:\n%s", answer)
	}
}

// TestFourLetterWordsWithoutLeader checks the responses of a server that serves no clients.
func TestFourLetterWordsWithoutLeader(t *testing.T) {
	s := start(t, 3, tcp.Config{})
	s.Cut(0)
	const notServing = "This ZooKeeper instance is not currently serving requests"
	for _, word := range []struct{ name, want string }{
		{"ruok", "imok"},
		{"isro", "null"},
		{"gtmk", "306"},
		{"hash", notServing},
		{"stmk\x00\x00\x00\x00\x00\x00\x00\x07", "7"},
		{"gtmk", "7"},
	} {
		if answer := fourLetterWord(t, s.Addresses()[0], word.name); answer != word.want {
			t.Errorf("%s: %q", word.name, answer)
		}
	}
	for _, name := range []string{
		"srvr", "stat", "mntr", "conf", "cons", "crst", "srst", "dump",
		"wchs", "wchc", "wchp", "dirs",
	} {
		if answer := fourLetterWord(t, s.Addresses()[0], name); answer != notServing+"\n" {
			t.Errorf("%s: %q", name, answer)
		}
	}
	if answer := fourLetterWord(t, s.Addresses()[0], "envi"); !strings.HasPrefix(answer,
		"Environment:\n") {
		t.Errorf("envi: %q", answer)
	}
}

// TestFourLetterWordsOfClient checks that go-zookeeper/zk parses the responses. It requires the old
// date format.
func TestFourLetterWordsOfClient(t *testing.T) {
	s := start(t, 3, tcp.Config{Version: tcp.Version(simzk.V38, true)})
	addresses := s.Addresses()
	connect(t, 10*time.Second, addresses[1])
	servers, ok := zk.FLWSrvr(addresses, testTimeout)
	if !ok || servers[0].Mode != zk.ModeFollower || servers[2].Mode != zk.ModeLeader ||
		servers[1].Epoch != 1 ||
		servers[1].Counter != 1 || servers[1].NodeCount != 5 ||
		servers[1].Version != "3.8.0-interlock" ||
		servers[1].BuildTime.Year() != 2022 {
		t.Errorf("%+v %v", servers[1], servers[0].Error)
	}
	for i, ok := range zk.FLWRuok(addresses, testTimeout) {
		if !ok {
			t.Errorf("server %d does not respond to ruok", i+1)
		}
	}
}

func TestVersion(t *testing.T) {
	for want, got := range map[string]string{
		"3.8.0-interlock, built on 2022-02-25 08:49 UTC": tcp.Version(simzk.V38, false),
		"3.8.0-interlock, built on 02/25/2022 08:49 UTC": tcp.Version(simzk.V38, true),
		"3.9.4-interlock, built on 2025-08-19 19:53 UTC": tcp.Version(simzk.V39, false),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
