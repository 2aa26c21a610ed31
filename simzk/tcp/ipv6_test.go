package tcp_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/simzk/tcp"
	"github.com/interlock-sim/interlock/simzk/wire"
)

// TestIPv6 checks that the server prints IPv6 addresses as Java does.
func TestIPv6(t *testing.T) {
	server, err := tcp.Start(tcp.Config{}, "[::1]:0")
	if err != nil {
		t.Skip("IPv6 is not available: ", err)
	}
	defer server.Close()
	address := server.Addresses()[0]
	c, _ := open(t, address, 20*time.Second)
	identities := c.call(wire.Request{Op: wire.OpWhoAmI}).Identities
	if len(identities) != 1 ||
		identities[0] != (wire.Identity{Scheme: "ip", ID: "0:0:0:0:0:0:0:1"}) {
		t.Errorf("identities %q", identities)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "cons"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || strings.Count(string(answer), " /[0:0:0:0:0:0:0:1]:") != 2 {
		t.Errorf("%s %v", answer, err)
	}
}
