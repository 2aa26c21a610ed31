package tcp_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tcp"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// withLocalSessions starts an ensemble of three members with local sessions. The last one leads.
func withLocalSessions(t *testing.T, mode simzk.LocalSessions, tick time.Duration) *tcp.Server {
	t.Helper()
	return start(t, 3, tcp.Config{Cluster: simzk.Config{
		Lag: true, LocalSessions: mode, TickTime: tick,
	}})
}

// resumes reports whether a server resumes a session.
func resumes(t *testing.T, address string, session *wire.ConnectResponse) bool {
	t.Helper()
	c := dial(t, address)
	frame, at := wire.BeginFrame(nil)
	c.write(wire.EndFrame(wire.AppendConnectRequest(frame, &wire.ConnectRequest{
		TimeoutMillis: 20000, SessionID: session.SessionID, Password: session.Password,
	}), at))
	response := new(wire.ConnectResponse)
	if err := wire.DecodeConnectResponse(c.read(), response); err != nil {
		t.Fatal(err)
	}
	return response.SessionID == session.SessionID
}

// TestLocalSessionEndsWithService kills the leader. The followers then stop serving and forget their
// local sessions, but not a session that was upgraded.
func TestLocalSessionEndsWithService(t *testing.T) {
	s := withLocalSessions(t, simzk.UpgradedLocalSessions, 0)
	follower := s.Addresses()[0]
	local, localSession := open(t, follower, 20*time.Second)
	upgraded, upgradedSession := open(t, follower, 20*time.Second)
	if reply := upgraded.call(create("/e", nil, wire.Ephemeral)); reply.Code != wire.OK {
		t.Fatal(reply.Code)
	}
	if err := s.Kill(1); err != nil {
		t.Fatal(err)
	}
	if reply := local.call(wire.Request{Op: wire.OpExists, Path: "/e"}); reply.Code != wire.OK {
		t.Errorf("after the end of another follower: %v", reply.Code)
	}
	if err := s.Up(1, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(2); err != nil {
		t.Fatal(err)
	}
	local.awaitEnd()
	awaitState(t, s, 0, tcp.Follower, tcp.Leader)
	if resumes(t, follower, localSession) {
		t.Error("a local session has survived an election")
	}
	if !resumes(t, follower, upgradedSession) {
		t.Error("an upgraded session has not survived an election")
	}
	if list := s.Sessions(); len(list) != 1 || list[0].ID != upgradedSession.SessionID {
		t.Errorf("sessions %+v", list)
	}
}

// TestLocalSessionWithoutLeader drops the messages between a follower and its leader. Until the
// follower notices, it opens, resumes and closes local sessions alone.
func TestLocalSessionWithoutLeader(t *testing.T) {
	s := withLocalSessions(t, simzk.FixedLocalSessions, time.Minute)
	for _, link := range [][2]int{{0, 2}, {2, 0}} {
		if err := s.CutLink(link[0], link[1]); err != nil {
			t.Fatal(err)
		}
	}
	follower := s.Addresses()[0]
	c, session := open(t, follower, 5*time.Minute)
	if !resumes(t, follower, session) {
		t.Error("the session is not resumed at its server")
	}
	c.awaitEnd() // The session has moved to another connection.
	closing, _ := open(t, follower, 5*time.Minute)
	if reply := closing.call(wire.Request{Op: wire.OpCloseSession}); reply.Code != wire.OK {
		t.Errorf("close: %v", reply.Code)
	}
	if list := s.Sessions(); len(list) != 1 || list[0].ID != session.SessionID ||
		list[0].Home != 0 {
		t.Errorf("sessions %+v", list)
	}
}

// TestLocalSessionExpires lets a local session expire, which takes no transaction.
func TestLocalSessionExpires(t *testing.T) {
	s := withLocalSessions(t, simzk.FixedLocalSessions, 10*time.Millisecond)
	before := s.Status().Zxid
	silent, session := open(t, s.Addresses()[0], 0)
	silent.awaitEnd()
	if resumes(t, s.Addresses()[0], session) {
		t.Error("an expired session is resumed")
	}
	if after := s.Status().Zxid; after != before || len(s.Sessions()) > 0 {
		t.Errorf("zxid %s after %s, sessions %+v", after, before, s.Sessions())
	}
}

// TestLocalSessionClock makes the clock of a follower run twice as fast: it alone times its local
// sessions.
func TestLocalSessionClock(t *testing.T) {
	s := withLocalSessions(t, simzk.FixedLocalSessions, 0)
	if err := s.SetClockRate(0, 200); err != nil {
		t.Fatal(err)
	}
	var expires [2]time.Duration // of the fast server, and of one with the true time
	for i := range expires {
		_, session := open(t, s.Addresses()[i], 40*time.Second)
		for _, info := range s.Sessions() {
			if info.ID == session.SessionID {
				expires[i] = info.Expires
			}
		}
	}
	if expires[0] < 20*time.Second || expires[0] > 25*time.Second || expires[1] < 40*time.Second {
		t.Errorf("sessions expire after %v", expires)
	}
}

// TestUpgradeIsLost stops the leader's messages before it upgrades a session. The upgrade is lost
// with the leader, and the session with it.
func TestUpgradeIsLost(t *testing.T) {
	s := withLocalSessions(t, simzk.UpgradedLocalSessions, 0)
	c, session := open(t, s.Addresses()[2], 20*time.Second)
	for follower := range 2 {
		if err := s.CutLink(2, follower); err != nil {
			t.Fatal(err)
		}
	}
	c.send(create("/e", nil, wire.Ephemeral))
	for s.Sessions()[0].Home >= 0 { // The server has yet to receive the request.
		time.Sleep(time.Millisecond)
	}
	if err := s.Kill(2); err != nil {
		t.Fatal(err)
	}
	for follower := range 2 { // They notice at once instead of after five ticks.
		if err := s.HealLink(2, follower); err != nil {
			t.Fatal(err)
		}
	}
	awaitState(t, s, 1, tcp.Leader)
	if resumes(t, s.Addresses()[1], session) {
		t.Error("the session is known")
	}
	if list := s.Sessions(); len(list) != 0 {
		t.Errorf("sessions %+v", list)
	}
}

// TestLocalSessionWords checks what the four-letter words say of local sessions.
func TestLocalSessionWords(t *testing.T) {
	s := withLocalSessions(t, simzk.UpgradedLocalSessions, 0)
	for i := range 2 {
		open(t, s.Addresses()[0], 20*time.Second)
		open(t, s.Addresses()[2*i], 20*time.Second)
	}
	upgraded, _ := open(t, s.Addresses()[0], 20*time.Second)
	upgraded.call(create("/e", nil, wire.Ephemeral))
	for i, want := range [][2]string{
		{"zk_global_sessions\t1\nzk_local_sessions\t3\n", "(3):\nGlobal Sessions(1):\n"},
		{"zk_global_sessions\t1\nzk_local_sessions\t0\n", "Local Session Sets (0)/(0):\n"},
		{"zk_global_sessions\t1\nzk_local_sessions\t1\n", "\nGlobal Session Sets (1)/(1):\n"},
	} {
		address := s.Addresses()[i]
		monitor, dump := fourLetterWord(t, address, "mntr"), fourLetterWord(t, address, "dump")
		if !strings.Contains(monitor, want[0]) {
			t.Errorf("server %d: no %q in\n%s", i, want[0], monitor)
		}
		if i > 0 && !strings.Contains(dump, want[1]) {
			t.Errorf("server %d: no %q in\n%s", i, want[1], dump)
		}
	}
}

// TestLocalSessionsStandalone checks that a standalone server has no local sessions.
func TestLocalSessionsStandalone(t *testing.T) {
	s, address := single(t, simzk.Config{LocalSessions: simzk.FixedLocalSessions})
	c, _ := open(t, address, 20*time.Second)
	if reply := c.call(create("/e", nil, wire.Ephemeral)); reply.Code != wire.OK {
		t.Error(reply.Code)
	}
	if list := s.Sessions(); len(list) != 1 || list[0].Home != -1 {
		t.Errorf("sessions %+v", list)
	}
}

// TestLocalSessionsOfReconfig removes the leader from the ensemble. All servers then serve anew,
// without their local sessions.
func TestLocalSessionsOfReconfig(t *testing.T) {
	s := start(t, 3, tcp.Config{Cluster: simzk.Config{
		Reconfig: true, SuperDigest: "super:D/InIHSb7yEEbrWz8b9l71RjZJU=",
		LocalSessions: simzk.FixedLocalSessions,
	}})
	follower, session := open(t, s.Addresses()[0], 20*time.Second)
	super, _ := open(t, s.Addresses()[1], 20*time.Second)
	super.beSuper()
	if reply := super.call(reconfig(wire.Reconfig{Leaving: "3", Version: -1})); reply.Code != wire.OK {
		t.Fatal(reply.Code)
	}
	follower.awaitEnd()
	if resumes(t, s.Addresses()[0], session) || len(s.Sessions()) > 0 {
		t.Errorf("sessions %+v", s.Sessions())
	}
}
