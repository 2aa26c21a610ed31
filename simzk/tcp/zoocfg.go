package tcp

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

// A ServerConfig is the part of a ZooKeeper server's configuration that a simulated server uses.
type ServerConfig struct {
	DataDir       string
	Address       string // for clients, on the loopback interface
	ID            int    // of the server; 0 if standalone
	Members       []simzk.Member
	TickTime      time.Duration
	MinTimeout    time.Duration // of sessions; 0 unless given
	MaxTimeout    time.Duration
	Reconfig      bool
	LoneVoter     bool // standaloneEnabled is false
	SuperDigest   string
	ExtendedTypes bool
	LocalSessions simzk.LocalSessions
}

// ReadServerConfig reads a configuration file (zoo.cfg), its dynamic configuration file and the
// server's id from the file myid. Relative paths are relative to directory, the working directory
// of a real server, or to the working directory of this process if directory is empty. The flags of
// the server's JVM define the superuser and enable TTL nodes.
//
// A server listens on the loopback interface only. A missing or unspecified address means
// 127.0.0.1; any other address is refused. Unknown keys are ignored. The error names the file and,
// where possible, the line and the key.
func ReadServerConfig(path, directory, javaFlags string) (*ServerConfig, error) {
	in := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(directory, path)
	}
	p, err := readProperties(in(path))
	if err != nil {
		return nil, err
	}
	if dynamic := p.get("dynamicConfigFile"); dynamic.value != "" {
		more, err := readProperties(in(dynamic.value))
		if err != nil {
			return nil, dynamic.wrap(err)
		}
		p.members = append(p.members, more.members...)
	}
	c := new(ServerConfig)
	for _, read := range []func(*properties) error{
		c.readBooleans, c.readNumbers, checkNumbers,
		c.readMembers, c.readAddress,
	} {
		if err := read(p); err != nil {
			return nil, err
		}
	}
	c.DataDir = in(p.get("dataDir").value)
	if !c.Standalone() {
		if c.ID, err = readID(filepath.Join(c.DataDir, "myid")); err != nil {
			return nil, err
		}
	}
	if err := c.readMemberAddress(p); err != nil {
		return nil, err
	}
	c.readJavaFlags(javaFlags)
	return c, nil
}

// Standalone reports whether the server is standalone. A single member is standalone unless
// LoneVoter is set.
func (c *ServerConfig) Standalone() bool {
	return len(c.Members) == 0 || len(c.Members) == 1 && !c.LoneVoter
}

// readBooleans reads the boolean properties.
func (c *ServerConfig) readBooleans(p *properties) error {
	standalone, local, upgrading := true, false, false
	for _, choice := range []struct {
		key string
		to  *bool
	}{
		{"standaloneEnabled", &standalone},
		{"reconfigEnabled", &c.Reconfig},
		{"localSessionsEnabled", &local},
		{"localSessionsUpgradingEnabled", &upgrading},
	} {
		property := p.get(choice.key)
		switch {
		case strings.EqualFold(property.value, "true"):
			*choice.to = true
		case strings.EqualFold(property.value, "false"):
			*choice.to = false
		case property.line != 0:
			return property.wrap(fmt.Errorf("%q is neither true nor false", property.value))
		}
	}
	c.LoneVoter = !standalone
	switch {
	case local && upgrading:
		c.LocalSessions = simzk.UpgradedLocalSessions
	case local:
		c.LocalSessions = simzk.FixedLocalSessions
	}
	return nil
}

// The default limits of session timeouts in ticks.
const (
	minTimeoutTicks = 2
	maxTimeoutTicks = 20
)

func (c *ServerConfig) readNumbers(p *properties) error {
	for _, number := range []struct {
		key      string
		to       *time.Duration
		fallback time.Duration
	}{
		{"tickTime", &c.TickTime, 3 * time.Second},
		{"minSessionTimeout", &c.MinTimeout, 0},
		{"maxSessionTimeout", &c.MaxTimeout, 0},
	} {
		property := p.get(number.key)
		if property.line == 0 || property.value == "-1" {
			*number.to = number.fallback
			continue
		}
		millis, err := strconv.ParseUint(property.value, 10, 31)
		if err != nil || millis == 0 {
			return property.wrap(fmt.Errorf("%q is not a positive number of milliseconds",
				property.value))
		}
		*number.to = time.Duration(millis) * time.Millisecond
	}
	low, high := cmp.Or(c.MinTimeout, minTimeoutTicks*c.TickTime),
		cmp.Or(c.MaxTimeout, maxTimeoutTicks*c.TickTime)
	if low > high {
		cause := p.get("minSessionTimeout")
		if cause.line == 0 {
			cause = p.get("maxSessionTimeout")
		}
		return cause.wrap(fmt.Errorf("minimum session timeout %v exceeds maximum %v", low, high))
	}
	return nil
}

// checkNumbers checks numbers that the simulation ignores but that a real server must parse to
// start.
func checkNumbers(p *properties) error {
	for _, key := range []string{
		"initLimit", "syncLimit", "maxClientCnxns", "secureClientPort", "clientPortListenBacklog",
		"electionAlg",
		"autopurge.snapRetainCount", "autopurge.purgeInterval",
	} {
		property := p.get(key)
		if _, err := strconv.ParseInt(property.value, 10, 32); property.line != 0 && err != nil {
			return property.wrap(fmt.Errorf("%q is not a number", property.value))
		}
	}
	return nil
}

// readMembers reads the members of the ensemble. The last line for a server counts.
func (c *ServerConfig) readMembers(p *properties) error {
	for _, line := range p.members {
		m, err := line.member()
		if err != nil {
			return fmt.Errorf("%s:%d: %w", line.path, line.line, err) // The error names the key.
		}
		c.Members = append(slices.DeleteFunc(c.Members,
			func(other simzk.Member) bool { return other.ID == m.ID }), m)
	}
	if p.get("dataDir").value == "" {
		return fmt.Errorf("%s: dataDir is missing", p.path)
	}
	if c.Standalone() {
		c.Members = nil
	}
	return nil
}

// member parses a server.N line.
func (p property) member() (simzk.Member, error) { return simzk.ParseMember(p.key + "=" + p.value) }

// readID reads a server's id.
func readID(path string) (int, error) {
	content, err := readFile(path)
	if err != nil {
		return 0, err
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil || id == unsetID {
		return 0, fmt.Errorf("%s: %q is not a server id, a number other than %d", path, content,
			unsetID)
	}
	return id, nil
}

// unsetID is the number that no running server may have.
const unsetID = -1

// readAddress reads the address for clients.
func (c *ServerConfig) readAddress(p *properties) error {
	port := p.get("clientPort")
	if port.line == 0 {
		return nil
	}
	if _, err := strconv.ParseUint(port.value, 10, 16); err != nil {
		return port.wrap(fmt.Errorf("%q is no port, which is a number from 0 to 65535", port.value))
	}
	var err error
	host := p.get("clientPortAddress")
	if c.Address, err = loopbackAddress(net.JoinHostPort(host.value, port.value)); err != nil {
		return host.wrap(err)
	}
	return nil
}

// readMemberAddress reads the address for clients from the server's own server.N line, which takes
// precedence.
func (c *ServerConfig) readMemberAddress(p *properties) error {
	for _, line := range p.members {
		m, err := line.member()
		if err != nil || m.ID != c.ID || m.Client == "" || c.Standalone() {
			continue
		}
		if c.Address, err = loopbackAddress(m.Client); err != nil {
			return line.wrap(err)
		}
	}
	if c.Address == "" {
		return fmt.Errorf("%s: clientPort is missing", p.path)
	}
	return nil
}

// loopbackAddress replaces an unspecified host by the loopback address. It returns an error for
// other hosts.
func loopbackAddress(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if host == "" {
		host = netip.IPv4Unspecified().String()
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "localhost" || err == nil && ip.IsLoopback():
	case err == nil && ip.IsUnspecified():
		host = "127.0.0.1"
	default:
		return "", fmt.Errorf("other machines can reach %s, and the server does not authenticate "+
			"clients: use a loopback address", address)
	}
	return net.JoinHostPort(host, port), nil
}

func (c *ServerConfig) readJavaFlags(flags string) {
	for flag := range strings.FieldsSeq(flags) {
		key, value, _ := strings.Cut(strings.TrimPrefix(flag, "-Dzookeeper."), "=")
		switch key {
		case "DigestAuthenticationProvider.superDigest":
			c.SuperDigest = value
		case "extendedTypesEnabled":
			c.ExtendedTypes = value == "true"
		}
	}
}
