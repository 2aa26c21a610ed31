package tcp_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/interlock-sim/interlock/simzk"
	"github.com/interlock-sim/interlock/simzk/tcp"
)

// write writes a file in a directory and returns its path.
func write(t *testing.T, directory, name, content string) string {
	t.Helper()
	path := filepath.Join(directory, name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadServerConfig(t *testing.T) {
	directory := t.TempDir()
	write(t, directory, "myid", " 2\n")
	dynamic := write(t, directory, "dynamic", "server.2=127.0.0.1:2889:3889;2182\n")
	three := []simzk.Member{
		{
			ID: 1, Servers: []simzk.Endpoint{{Host: "10.0.0.1", Quorum: 2888, Election: 3888}},
			Observer: true,
		},
		{
			ID: 2, Servers: []simzk.Endpoint{{Host: "127.0.0.1", Quorum: 2889, Election: 3889}},
			Client: "0.0.0.0:2182",
		},
	}
	for _, test := range []struct {
		name, content, flags string
		want                 tcp.ServerConfig
	}{
		{
			"standalone", "# a comment\n\ntickTime = 500\nclientPort=2181\nignored.key=x=y\n", "",
			tcp.ServerConfig{Address: "127.0.0.1:2181", TickTime: 500 * time.Millisecond},
		},
		{
			"defaults", "clientPort=2181\nclientPortAddress=localhost\nmaxSessionTimeout=-1\n", "",
			tcp.ServerConfig{Address: "localhost:2181", TickTime: 3 * time.Second},
		},
		{
			"other separators", "clientPort: 2181\ntickTime 500\n\t! " +
				"x\nreconfigEnabled\t=\tTRUE\nflag\ntickTime = 600", "",
			tcp.ServerConfig{
				Address: "127.0.0.1:2181", TickTime: 600 * time.Millisecond,
				Reconfig: true,
			},
		},
		{
			"a server named twice",
			"clientPort=2181\nserver.1=bogus:1:2\nserver.1=127.0.0.1:2888:3888\n",
			"",
			tcp.ServerConfig{Address: "127.0.0.1:2181", TickTime: 3 * time.Second},
		},
		{
			"one server", "clientPort=2181\nserver.1=127.0.0.1:2888:3888\n" +
				"minSessionTimeout=10\nmaxSessionTimeout=100\n", "-Dx=y",
			tcp.ServerConfig{
				Address: "127.0.0.1:2181", TickTime: 3 * time.Second,
				MinTimeout: 10 * time.Millisecond, MaxTimeout: 100 * time.Millisecond,
			},
		},
		{
			"upgraded local sessions", "clientPort=2181\nlocalSessionsEnabled=true\n" +
				"localSessionsUpgradingEnabled=true\n", "",
			tcp.ServerConfig{
				Address: "127.0.0.1:2181", TickTime: 3 * time.Second,
				LocalSessions: simzk.UpgradedLocalSessions,
			},
		},
		{
			"upgrading without local sessions",
			"clientPort=2181\nlocalSessionsUpgradingEnabled=true\n", "",
			tcp.ServerConfig{Address: "127.0.0.1:2181", TickTime: 3 * time.Second},
		},
		{
			"ensemble", "clientPort=1\nserver.1=10.0.0.1:2888:3888:observer\ndynamicConfigFile=" +
				dynamic +
				"\nreconfigEnabled=true\nstandaloneEnabled=false\nlocalSessionsEnabled=true\n",
			superFlags,
			tcp.ServerConfig{
				Address: "127.0.0.1:2182", TickTime: 3 * time.Second, ID: 2, Members: three,
				Reconfig:  true,
				LoneVoter: true, LocalSessions: simzk.FixedLocalSessions,
				SuperDigest: "super:D/InIHSb7yEEbrWz8b9l71RjZJU=", ExtendedTypes: true,
			},
		},
	} {
		got, err := tcp.ReadServerConfig(write(t, directory, "zoo.cfg", "dataDir="+directory+"\n"+
			test.content), "/elsewhere", test.flags)
		test.want.DataDir = directory
		if err != nil || !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%s: %+v %v, want %+v", test.name, got, err, test.want)
		}
	}
}

// TestRelativePaths checks that paths are relative to the working directory, as in a real server,
// and not to the file that contains them.
func TestRelativePaths(t *testing.T) {
	directory := t.TempDir()
	for _, name := range []string{"conf", "data"} {
		if err := os.Mkdir(filepath.Join(directory, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write(t, directory, "data/myid", "2")
	write(t, directory, "conf/dynamic", "server.1=127.0.0.1:1:2;3\nserver.2=127.0.0.1:4:5;6\n")
	write(t, directory, "conf/zoo.cfg", "dataDir=data\ndynamicConfigFile=conf/dynamic\n")
	got, err := tcp.ReadServerConfig("conf/zoo.cfg", directory, "")
	if err != nil || got.DataDir != filepath.Join(directory, "data") || got.ID != 2 ||
		got.Address != "127.0.0.1:6" {
		t.Errorf("%+v %v", got, err)
	}
	t.Chdir(directory)
	if got, err = tcp.ReadServerConfig("conf/zoo.cfg", "", ""); err != nil ||
		got.DataDir != "data" ||
		got.ID != 2 {
		t.Errorf("from the working directory: %+v %v", got, err)
	}
}

// TestServerConfigErrors checks that errors name the file, the line and the cause.
func TestServerConfigErrors(t *testing.T) {
	directory := t.TempDir()
	two := "server.1=127.0.0.1:1:2\nserver.2=127.0.0.1:3:4\n"
	for _, test := range []struct{ content, want string }{
		{"clientPort=1", "dataDir is missing"},
		{"dataDir=DIR", "clientPort is missing"},
		{"dataDir", "zoo.cfg: dataDir is missing"},
		{
			"dataDir=DIR\nclientPort=1\ntickTime=soon",
			`zoo.cfg:3: tickTime: "soon" is not a positive number of milliseconds`,
		},
		{
			"dataDir=DIR\nclientPort=1\n\n# x\ntickTime=0",
			`zoo.cfg:5: tickTime: "0" is not a positive number of milliseconds`,
		},
		{
			"dataDir=DIR\nclientPort=1\ntickTime",
			`zoo.cfg:3: tickTime: "" is not a positive number of milliseconds`,
		},
		{
			"dataDir=DIR\nclientPort=1\nminSessionTimeout=-2",
			`zoo.cfg:3: minSessionTimeout: "-2" is not a positive number of milliseconds`,
		},
		{
			"dataDir=DIR\nclientPort=1\nminSessionTimeout=2\nmaxSessionTimeout=1",
			"zoo.cfg:3: minSessionTimeout: minimum session timeout 2ms exceeds maximum 1ms",
		},
		{
			"dataDir=DIR\nclientPort=1\nmaxSessionTimeout=1",
			"zoo.cfg:3: maxSessionTimeout: minimum session timeout 6s exceeds maximum",
		},
		{"dataDir=DIR\nclientPort=zk", `zoo.cfg:2: clientPort: "zk" is no port`},
		{"dataDir=DIR\nclientPort=65536", `zoo.cfg:2: clientPort: "65536" is no port`},
		{"dataDir=DIR\nclientPort=", `zoo.cfg:2: clientPort: "" is no port`},
		{"dataDir=DIR\nclientPort=1\ninitLimit=ten", `zoo.cfg:3: initLimit: "ten" is not a number`},
		{
			"dataDir=DIR\nclientPort=1\nmaxClientCnxns=3000000000",
			`zoo.cfg:3: maxClientCnxns: "3000000000" is not a number`,
		},
		{
			"dataDir=DIR\nclientPort=1\nreconfigEnabled=yes",
			`zoo.cfg:3: reconfigEnabled: "yes" is neither true nor false`,
		},
		{
			"dataDir=DIR\nclientPort=1\nstandaloneEnabled=0\nreconfigEnabled=1",
			`zoo.cfg:3: standaloneEnabled: "0" is neither true nor false`,
		},
		{
			"dataDir=DIR\nclientPort=1\nclientPortAddress=10.0.0.1",
			"zoo.cfg:3: clientPortAddress: other machines can reach 10.0.0.1:1",
		},
		{
			"dataDir=DIR\nclientPort=1\ndynamicConfigFile=DIR",
			"zoo.cfg:3: dynamicConfigFile: read DIR: it is no regular file",
		},
		{"dataDir=DIR\nclientPort=1\n" + two, "myid"},
		{
			"dataDir=DIR\nclientPort=1\ndynamicConfigFile=/nowhere/at/all",
			"dynamicConfigFile: open /nowhere/at/all",
		},
		{
			"dataDir=DIR\nclientPort=1\nserver.x=127.0.0.1:1:2",
			`zoo.cfg:3: "server.x=127.0.0.1:1:2" is not of the form server.ID=...`,
		},
		{
			"dataDir=DIR\nclientPort=1\nserver.1=127.0.0.1:1",
			`zoo.cfg:3: server.1: "127.0.0.1:1" is not of the form host:port:port`,
		},
	} {
		path := write(t, directory, "zoo.cfg", strings.ReplaceAll(test.content, "DIR", directory))
		_, err := tcp.ReadServerConfig(path, "", "")
		if err == nil || !strings.Contains(err.Error(), strings.ReplaceAll(test.want, "DIR",
			directory)) || !strings.Contains(err.Error(), directory) {
			t.Errorf("%q: %v, want %s", test.content, err, test.want)
		}
	}
	write(t, directory, "myid", "me")
	path := write(t, directory, "zoo.cfg", "dataDir="+directory+"\nclientPort=1\n"+two)
	if _, err := tcp.ReadServerConfig(path, "", ""); err == nil ||
		!strings.Contains(err.Error(), `myid: "me" is not a server id`) {
		t.Error(err)
	}
	if _, err := tcp.ReadServerConfig(filepath.Join(directory, "nowhere"), "", ""); err == nil {
		t.Error("ReadServerConfig accepts a missing file")
	}
	write(t, directory, "myid", "2")
	write(t, directory, "zoo.cfg", "dataDir="+directory+"\n"+two+
		"server.2=127.0.0.1:3:4;10.0.0.1:5\n")
	if _, err := tcp.ReadServerConfig(path, "", ""); err == nil ||
		!strings.Contains(err.Error(), "zoo.cfg:4: server.2: other machines can reach 10.0.0.1:5") {
		t.Error(err)
	}
}
