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

// A ServerConfig is what the configuration of a ZooKeeper server says, as far as a simulated one
// has a use for it.
type ServerConfig struct {
	DataDir       string
	Address       string // for clients, on the loopback interface
	ID            int    // of the server; 0 of one that is alone
	Members       []simzk.Member
	TickTime      time.Duration
	MinTimeout    time.Duration // of sessions; 0 unless given
	MaxTimeout    time.Duration
	Reconfig      bool
	LoneVoter     bool // standaloneEnabled is false
	SuperDigest   string
	ExtendedTypes bool
}

// ReadServerConfig reads a configuration file (zoo.cfg), the file that it names for the members of
// the ensemble, and the server's number from the file myid. Relative paths are relative to the
// directory, which is the working directory of a real server, or to that of this program if it is
// empty. The flags are those of a server's Java machine: the superuser and TTL nodes are given
// there.
//
// A server listens on the loopback interface only: a configuration that names no address or that of
// any interface means 127.0.0.1, and one that names another is refused. Keys that are not known are
// passed over. The error names the file and, where there is one to blame, the line and the key.
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
			return nil, dynamic.wrong(err)
		}
		p.members = append(p.members, more.members...)
	}
	c := new(ServerConfig)
	for _, read := range []func(*properties) error{
		c.readSwitches, c.readNumbers, checkNumbers,
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
	if err := c.preferOwnAddress(p); err != nil {
		return nil, err
	}
	c.readJavaFlags(javaFlags)
	return c, nil
}

// Standalone tells whether the server is alone, and not one of an ensemble, even if of one member.
func (c *ServerConfig) Standalone() bool {
	return len(c.Members) == 0 || len(c.Members) == 1 && !c.LoneVoter
}

// readSwitches reads what is true or false.
func (c *ServerConfig) readSwitches(p *properties) error {
	standalone := true
	for _, choice := range []struct {
		key string
		to  *bool
	}{{"standaloneEnabled", &standalone}, {"reconfigEnabled", &c.Reconfig}} {
		property := p.get(choice.key)
		switch {
		case strings.EqualFold(property.value, "true"):
			*choice.to = true
		case strings.EqualFold(property.value, "false"):
			*choice.to = false
		case property.line != 0:
			return property.wrong(fmt.Errorf("%q is neither true nor false", property.value))
		}
	}
	c.LoneVoter = !standalone
	return nil
}

// The session timeouts that a server grants, in ticks, unless its configuration says otherwise.
const (
	minTimeoutTicks = 2
	maxTimeoutTicks = 20
)

func (c *ServerConfig) readNumbers(p *properties) error {
	for _, number := range []struct {
		key   string
		to    *time.Duration
		usual time.Duration
	}{
		{"tickTime", &c.TickTime, 3 * time.Second},
		{"minSessionTimeout", &c.MinTimeout, 0},
		{"maxSessionTimeout", &c.MaxTimeout, 0},
	} {
		property := p.get(number.key)
		if property.line == 0 || property.value == "-1" {
			*number.to = number.usual
			continue
		}
		millis, err := strconv.ParseUint(property.value, 10, 31)
		if err != nil || millis == 0 {
			return property.wrong(fmt.Errorf("%q is no number of milliseconds", property.value))
		}
		*number.to = time.Duration(millis) * time.Millisecond
	}
	low, high := cmp.Or(c.MinTimeout, minTimeoutTicks*c.TickTime),
		cmp.Or(c.MaxTimeout, maxTimeoutTicks*c.TickTime)
	if low > high {
		blamed := p.get("minSessionTimeout")
		if blamed.line == 0 {
			blamed = p.get("maxSessionTimeout")
		}
		return blamed.wrong(fmt.Errorf("the shortest session timeout, %v, is longer than the "+
			"longest, %v",
			low, high))
	}
	return nil
}

// checkNumbers checks numbers that a real server would not start with, and that have no meaning
// here.
func checkNumbers(p *properties) error {
	for _, key := range []string{
		"initLimit", "syncLimit", "maxClientCnxns", "secureClientPort", "clientPortListenBacklog",
		"electionAlg",
		"autopurge.snapRetainCount", "autopurge.purgeInterval",
	} {
		property := p.get(key)
		if _, err := strconv.ParseInt(property.value, 10, 32); property.line != 0 && err != nil {
			return property.wrong(fmt.Errorf("%q is no number", property.value))
		}
	}
	return nil
}

// readMembers reads who belongs to the ensemble. Of two lines for one server the later counts.
func (c *ServerConfig) readMembers(p *properties) error {
	for _, line := range p.members {
		m, err := line.member()
		if err != nil {
			return fmt.Errorf("%s:%d: %w", line.path, line.line, err) // It names the key.
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

// member returns the server that a line names.
func (p property) member() (simzk.Member, error) { return simzk.ParseMember(p.key + "=" + p.value) }

// readID reads a server's number.
func readID(path string) (int, error) {
	content, err := readFile(path)
	if err != nil {
		return 0, err
	}
	id, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil || id < 0 || id > maxID {
		return 0, fmt.Errorf("%s: %q is no number of a server, which is from 0 to %d", path,
			content,
			maxID)
	}
	return id, nil
}

// maxID is the highest number of a server.
const maxID = 255

// readAddress finds out where clients connect.
func (c *ServerConfig) readAddress(p *properties) error {
	port := p.get("clientPort")
	if port.line == 0 {
		return nil
	}
	if _, err := strconv.ParseUint(port.value, 10, 16); err != nil {
		return port.wrong(fmt.Errorf("%q is no port, which is a number from 0 to 65535",
			port.value))
	}
	var err error
	host := p.get("clientPortAddress")
	if c.Address, err = onLoopback(net.JoinHostPort(host.value, port.value)); err != nil {
		return host.wrong(err)
	}
	return nil
}

// preferOwnAddress takes the address for clients from the server's own line, if that has one.
func (c *ServerConfig) preferOwnAddress(p *properties) error {
	for _, line := range p.members {
		m, err := line.member()
		if err != nil || m.ID != c.ID || m.Client == "" || c.Standalone() {
			continue
		}
		if c.Address, err = onLoopback(m.Client); err != nil {
			return line.wrong(err)
		}
	}
	if c.Address == "" {
		return fmt.Errorf("%s: clientPort is missing", p.path)
	}
	return nil
}

// onLoopback returns an address with that of the loopback interface in the place of that of any.
func onLoopback(address string) (string, error) {
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
		return "", fmt.Errorf("other machines can reach %s, and the server asks nobody for a "+
			"password: "+
			"only addresses of the loopback interface are served", address)
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
