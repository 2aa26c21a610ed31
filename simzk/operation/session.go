package operation

import "github.com/interlock-sim/interlock/simzk/wire"

// The requests of a session and its connection. The server handles those without Execute itself.
var (
	createSession = Operation{
		Op: wire.OpCreateSession, Name: "createSession", Verb: "connect", Cons: "SESS",
	}
	closeSession = Operation{
		Op: wire.OpCloseSession, Name: "closeSession", Verb: "close", Cons: "CLOS",
		Methods:   []string{"Close"},
		DropsStat: true,
	}
	ping = Operation{
		Op: wire.OpPing, Name: "ping", Cons: "PING", Xid: wire.XidPing,
		Execute: func(Server, *wire.Request) Answer { return Answer{} },
	}
	// notification is the type in events.
	notification = Operation{Op: wire.OpNotification, Name: "notification"}
)
