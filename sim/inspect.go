package sim

import "time"

// An Inspector is a [System] that describes its present state to people. The description decides
// nothing, and no search reads it.
type Inspector interface {
	// Inspect returns the present state. The caller owns it.
	Inspect() *Inspection
}

// An Inspection is the state of a system at one moment. Processes, servers and watches count from
// 1; 0 stands for none.
type Inspection struct {
	Nodes    []Node    `json:"nodes"`    // as the leader stores them, by path
	Sessions []Session `json:"sessions"` // in the order in which they were opened
	Watches  []Watch   `json:"watches"`  // by path
	Servers  []Server  `json:"servers"`
	Peers    []Peer    `json:"clients"` // by process
	// of a service that has keys instead of nodes, sessions and watches: by server and name; or nil
	Keys []Key `json:"keys,omitzero"`
}

// A Key is a key that a server stores.
type Key struct {
	Name    string        `json:"name"`
	Value   string        `json:"value,omitempty"` // unless it is no string
	Process int32         `json:"process"`         // that has set it
	Server  int32         `json:"server"`
	Expires time.Duration `json:"expires_ns,omitempty"` // if nothing happens before; 0 for never
}

// A Node is something that the service stores.
type Node struct {
	Path    string `json:"path"`
	Data    string `json:"data,omitempty"`
	Version int32  `json:"version,omitempty"` // the number of changes of its data
	// the session with which the node ends, and its process
	Session string `json:"session,omitempty"`
	Process int32  `json:"process,omitempty"`
}

// A Session is the service's state of a client.
type Session struct {
	ID      string        `json:"id"`
	Process int32         `json:"process"`
	Server  int32         `json:"server,omitempty"` // of its connection
	Expires time.Duration `json:"expires_ns"`       // unless the service hears from the client
}

// A Watch is a notification that a server owes a client.
type Watch struct {
	Number   int32  `json:"number"`
	Path     string `json:"path"`
	Children bool   `json:"children,omitempty"` // of the children, not of the node itself
	Process  int32  `json:"process"`
	Server   int32  `json:"server"`
}

// A Server is a server of the service.
type Server struct {
	Number      int32  `json:"number"`
	Up          bool   `json:"up"`
	Leader      bool   `json:"leader,omitempty"`
	Partitioned bool   `json:"partitioned,omitempty"`
	Applied     string `json:"applied"` // its last transaction
}

// A Peer is the client of a process and what is in flight between the two ends of its connection.
type Peer struct {
	Process   int32 `json:"process"`
	Connected bool  `json:"connected"`
	Server    int32 `json:"server"` // of its connection, or of the last one
	Crashed   bool  `json:"crashed,omitempty"`
	Paused    bool  `json:"paused,omitempty"`
	Down      bool  `json:"down,omitempty"` // its link is cut or stalled until it is healed
	// requests that are not served yet, and replies and events that are not delivered yet, each in
	// words, the oldest first
	Requests []string `json:"requests,omitempty"`
	Messages []string `json:"messages,omitempty"`
	Awaits   string   `json:"awaits,omitempty"` // the oldest request that has no reply yet
}
