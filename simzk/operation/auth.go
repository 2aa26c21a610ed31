package operation

import (
	"crypto/sha1"
	"encoding/base64"
	"strings"

	"github.com/interlock-sim/interlock/simzk/wire"
)

var (
	// auth adds an identity to the connection. The server decodes it on arrival.
	auth = Operation{
		Op: wire.OpAuth, Name: "auth", Xid: wire.XidAuth,
		Methods:   []string{"AddAuth"},
		Codec:     wire.Codec{Request: []wire.Field{wire.FieldCredentials}},
		Execute:   executeAuth,
		Malformed: MalformedCloses, NoZxid: true, DropsStat: true,
		Case: randomAuth, Weight: 1,
	}
	// sasl has a token. A server without SASL answers with none.
	sasl = Operation{
		Op: wire.OpSASL, Name: "sasl",
		Codec: wire.Codec{
			Request: []wire.Field{wire.FieldToken},
			Reply:   []wire.Field{wire.FieldToken},
		},
		Execute:   executeSASL,
		Malformed: MalformedCloses, NoZxid: true,
	}
)

// executeAuth adds the client's claimed identity. Only digests need proof, and the proof is the
// digest itself.
func executeAuth(s Server, r *wire.Request) Answer {
	switch {
	case r.Scheme == "digest" && r.Data != nil:
		credentials := wire.Text(r.Data)
		user, _, _ := strings.Cut(credentials, ":")
		sum := sha1.Sum([]byte(credentials))
		s.Authenticate(wire.Identity{
			Scheme: "digest", ID: user + ":" + base64.StdEncoding.EncodeToString(sum[:]),
		})
	case r.Scheme == "ip":
	default:
		answer := withCode(wire.AuthFailed)
		answer.Then = ReplyAndClose
		return answer
	}
	return Answer{}
}

func executeSASL(_ Server, r *wire.Request) Answer {
	if r.Data == nil {
		return Answer{Then: Close}
	}
	return Answer{}
}

func randomAuth(g Generator) *wire.Request {
	scheme, credentials := "digest", ""
	switch n := g.IntN(100); {
	case n < 5:
		scheme, credentials = "nosuch", "x"
	case n < 8:
		scheme, credentials = "ip", "x"
	case n < 15 && g.Supports().Super != "":
		credentials = g.Supports().Super
	default:
		credentials = oneOf(g, "u:p", "v:q", "u:wrong", "blah")
	}
	return &wire.Request{Op: wire.OpAuth, Scheme: scheme, Data: []byte(credentials)}
}
