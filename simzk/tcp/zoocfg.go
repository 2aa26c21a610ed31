package tcp

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-sim/interlock/simzk"
)

// A ServerConfig is what the configuration of a ZooKeeper server says, as far as a simulated one has a use for it.
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

// ReadServerConfig reads a configuration file (zoo.cfg), the file that it names for the members of the ensemble, and the
// server's number from the file myid. The flags are those of a server's Java machine: the superuser and TTL nodes are
// given there.
//
// A server listens on the loopback interface only: a configuration that names no address or that of any interface means
// 127.0.0.1, and one that names another is refused.
func ReadServerConfig(path, javaFlags string) (*ServerConfig, error) {
	p, err := readProperties(path)
	if err != nil {
		return nil, err
	}
	if dynamic := p.values["dynamicConfigFile"]; dynamic != "" {
		more, err := readProperties(dynamic)
		if err != nil {
			return nil, fmt.Errorf("%s: dynamicConfigFile: %w", path, err)
		}
		p.members = append(p.members, more.members...)
	}
	c := &ServerConfig{DataDir: p.values["dataDir"], Reconfig: p.values["reconfigEnabled"] == "true",
		LoneVoter: p.values["standaloneEnabled"] == "false"}
	for _, read := range []func(*properties) error{c.readNumbers, c.readMembers, c.readAddress} {
		if err := read(p); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	c.readJavaFlags(javaFlags)
	return c, nil
}

// Standalone tells whether the server is alone, and not one of an ensemble, even if of one member.
func (c *ServerConfig) Standalone() bool {
	return len(c.Members) == 0 || len(c.Members) == 1 && !c.LoneVoter
}

// properties are the lines of a configuration file.
type properties struct {
	values  map[string]string
	members []string // the lines that name servers
}

func readProperties(path string) (*properties, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &properties{values: make(map[string]string)}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "!") {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found {
			return nil, fmt.Errorf("%s: %q is not of the form key=value", path, line)
		}
		if strings.HasPrefix(line, "server.") {
			p.members = append(p.members, line)
		} else {
			p.values[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

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
		text := p.values[number.key]
		if text == "" || text == "-1" {
			*number.to = number.usual
			continue
		}
		millis, err := strconv.ParseUint(text, 10, 31)
		if err != nil || millis == 0 {
			return fmt.Errorf("%s: %q is no number of milliseconds", number.key, text)
		}
		*number.to = time.Duration(millis) * time.Millisecond
	}
	return nil
}

// readMembers reads who belongs to the ensemble, and which of them this is.
func (c *ServerConfig) readMembers(p *properties) error {
	for _, line := range p.members {
		m, err := simzk.ParseMember(line)
		if err != nil {
			return err
		}
		c.Members = append(c.Members, m)
	}
	if c.DataDir == "" {
		return errors.New("dataDir is missing")
	}
	if c.Standalone() {
		c.Members = nil
		return nil
	}
	content, err := os.ReadFile(filepath.Join(c.DataDir, "myid"))
	if err != nil {
		return err
	}
	c.ID, err = strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil || c.ID < 0 || c.ID > 255 {
		return fmt.Errorf("%s: %q is no number of a server", filepath.Join(c.DataDir, "myid"), content)
	}
	return nil
}

// readAddress finds out where clients connect: the server's own line may say it, and the older clientPort.
func (c *ServerConfig) readAddress(p *properties) error {
	address := ""
	if port := p.values["clientPort"]; port != "" {
		address = net.JoinHostPort(p.values["clientPortAddress"], port)
	}
	for _, m := range c.Members {
		if m.ID == c.ID && m.Client != "" {
			address = m.Client
		}
	}
	if address == "" {
		return errors.New("clientPort is missing")
	}
	var err error
	c.Address, err = onLoopback(address)
	return err
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
		return "", fmt.Errorf("other machines can reach %s, and the server asks nobody for a password: only addresses of the loopback interface are served", address)
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
