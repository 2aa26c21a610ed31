package simzk

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A Member is a server in the configuration of an ensemble.
type Member struct {
	ID       int  // any number, as in ZooKeeper
	Observer bool // follows without a vote
	Servers  []Endpoint
	// The host:port for clients; empty if the configuration does not specify it.
	Client string
}

// An Endpoint is the address of a member for the other servers. Simulated servers do not use it.
type Endpoint struct {
	Host             string
	Quorum, Election int // ports
}

// ParseMember parses "server.ID=host:port:port[:role][;[host:]port]", the syntax of configuration
// files and reconfigs.
func ParseMember(line string) (Member, error) {
	key, value, found := strings.Cut(line, "=")
	number, named := strings.CutPrefix(strings.TrimSpace(key), "server.")
	id, err := strconv.Atoi(number)
	if !found || !named || err != nil {
		return Member{}, fmt.Errorf("%q is not of the form server.ID=..., with a number as ID",
			line)
	}
	m, err := parseAddresses(strings.TrimSpace(value))
	if err != nil {
		return Member{}, fmt.Errorf("server.%d: %w", id, err)
	}
	m.ID = id
	return m, nil
}

// parseAddresses parses the part after the equals sign.
func parseAddresses(text string) (m Member, err error) {
	servers, client, found := strings.Cut(text, ";")
	if found {
		if m.Client, err = parseClient(strings.TrimSpace(client)); err != nil {
			return Member{}, err
		}
	}
	for server := range strings.SplitSeq(servers, "|") {
		endpoint, observer, err := parseEndpoint(strings.TrimSpace(server))
		if err != nil {
			return Member{}, err
		}
		m.Servers, m.Observer = append(m.Servers, endpoint), m.Observer || observer
	}
	return m, nil
}

func parseClient(text string) (string, error) {
	host, port := "0.0.0.0", text
	if strings.Contains(text, ":") {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return "", fmt.Errorf("%q is not of the form [host:]port", text)
		}
	}
	if _, err := parsePort(port); err != nil {
		return "", err
	}
	return net.JoinHostPort(host, port), nil
}

func parseEndpoint(text string) (endpoint Endpoint, observer bool, err error) {
	parts := splitColons(text)
	switch {
	case len(parts) != 3 && len(parts) != 4 || parts[0] == "":
		return endpoint, false,
			fmt.Errorf("%q is not of the form host:port:port or host:port:port:role",
				text)
	case len(parts) == 4 && strings.EqualFold(parts[3], "observer"):
		observer = true
	case len(parts) == 4 && !strings.EqualFold(parts[3], "participant"):
		return endpoint, false, fmt.Errorf("unknown role %q; known are participant and observer",
			parts[3])
	}
	endpoint.Host = parts[0]
	if endpoint.Quorum, err = parsePort(parts[1]); err != nil {
		return endpoint, false, err
	}
	if endpoint.Election, err = parsePort(parts[2]); err == nil &&
		endpoint.Quorum == endpoint.Election {
		err = fmt.Errorf("%q names the same port twice", text)
	}
	return endpoint, observer, err
}

// splitColons splits at colons, but not within the brackets of an IPv6 address.
func splitColons(text string) []string {
	bracketed, rest, found := strings.Cut(text, "]:")
	if !found || !strings.HasPrefix(text, "[") {
		return strings.Split(text, ":")
	}
	return append([]string{bracketed[1:]}, strings.Split(rest, ":")...)
}

func parsePort(text string) (int, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is not a port", text)
	}
	return int(port), nil
}

// String returns the member in the syntax of the node /zookeeper/config.
func (m Member) String() string {
	role := "participant"
	if m.Observer {
		role = "observer"
	}
	endpoints := make([]string, len(m.Servers))
	for i, e := range m.Servers {
		endpoints[i] = fmt.Sprintf("%s:%d", net.JoinHostPort(e.Host, strconv.Itoa(e.Quorum)),
			e.Election)
	}
	text := fmt.Sprintf("server.%d=%s:%s", m.ID, strings.Join(endpoints, "|"), role)
	if m.Client != "" {
		text += ";" + m.Client
	}
	return text
}

// addresses returns the addresses that no other member may have. As in ZooKeeper, loopback
// addresses are exempt.
func (m Member) addresses() []string {
	all := []string{m.Client}
	for _, e := range m.Servers {
		all = append(all, net.JoinHostPort(e.Host, strconv.Itoa(e.Quorum)),
			net.JoinHostPort(e.Host, strconv.Itoa(e.Election)))
	}
	return slices.DeleteFunc(all, func(address string) bool {
		host, _, err := net.SplitHostPort(address)
		if err != nil || host == "localhost" {
			return true
		}
		ip, err := netip.ParseAddr(host)
		return err == nil && (ip.IsLoopback() || ip.IsUnspecified())
	})
}

// conflicts reports whether two members share an address.
func (m Member) conflicts(other Member) bool {
	theirs := other.addresses()
	return slices.ContainsFunc(m.addresses(),
		func(address string) bool { return slices.Contains(theirs, address) })
}
