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

// write writes a file below a directory and returns its path.
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
		{ID: 1, Servers: []simzk.Endpoint{{Host: "10.0.0.1", Quorum: 2888, Election: 3888}}, Observer: true},
		{ID: 2, Servers: []simzk.Endpoint{{Host: "127.0.0.1", Quorum: 2889, Election: 3889}}, Client: "0.0.0.0:2182"},
	}
	for _, test := range []struct {
		name, content, flags string
		want                 tcp.ServerConfig
	}{
		{"alone", "# a comment\n\ntickTime = 500\nclientPort=2181\nignored.key=x=y\n", "",
			tcp.ServerConfig{Address: "127.0.0.1:2181", TickTime: 500 * time.Millisecond}},
		{"defaults", "clientPort=2181\nclientPortAddress=localhost\nmaxSessionTimeout=-1\n", "",
			tcp.ServerConfig{Address: "localhost:2181", TickTime: 3 * time.Second}},
		{"one server", "clientPort=2181\nserver.1=127.0.0.1:2888:3888\nminSessionTimeout=10\nmaxSessionTimeout=100\n", "-Dx=y",
			tcp.ServerConfig{Address: "127.0.0.1:2181", TickTime: 3 * time.Second, MinTimeout: 10 * time.Millisecond, MaxTimeout: 100 * time.Millisecond}},
		{"ensemble", "clientPort=1\nserver.1=10.0.0.1:2888:3888:observer\ndynamicConfigFile=" + dynamic +
			"\nreconfigEnabled=true\nstandaloneEnabled=false\n", superFlags,
			tcp.ServerConfig{Address: "127.0.0.1:2182", TickTime: 3 * time.Second, ID: 2, Members: three, Reconfig: true, LoneVoter: true,
				SuperDigest: "super:D/InIHSb7yEEbrWz8b9l71RjZJU=", ExtendedTypes: true}},
	} {
		got, err := tcp.ReadServerConfig(write(t, directory, "zoo.cfg", "dataDir="+directory+"\n"+test.content), test.flags)
		test.want.DataDir = directory
		if err != nil || !reflect.DeepEqual(*got, test.want) {
			t.Errorf("%s: %+v %v, not %+v", test.name, got, err, test.want)
		}
	}
}

// TestServerConfigErrors names the file and what is wrong in it.
func TestServerConfigErrors(t *testing.T) {
	directory := t.TempDir()
	two := "server.1=127.0.0.1:1:2\nserver.2=127.0.0.1:3:4\n"
	for _, test := range []struct{ content, want string }{
		{"clientPort=1", "dataDir is missing"},
		{"dataDir=DIR", "clientPort is missing"},
		{"dataDir", `"dataDir" is not of the form key=value`},
		{"dataDir=DIR\nclientPort=1\ntickTime=soon", `tickTime: "soon" is no number of milliseconds`},
		{"dataDir=DIR\nclientPort=1\ntickTime=0", `tickTime: "0" is no number of milliseconds`},
		{"dataDir=DIR\nclientPort=1\nclientPortAddress=10.0.0.1", "other machines can reach 10.0.0.1:1"},
		{"dataDir=DIR\nclientPort=1\n" + two, "myid"},
		{"dataDir=DIR\nclientPort=1\ndynamicConfigFile=/nowhere/at/all", "dynamicConfigFile: open /nowhere/at/all"},
		{"dataDir=DIR\nclientPort=1\nserver.x=127.0.0.1:1:2", `"server.x=127.0.0.1:1:2" is not of the form server.ID=...`},
		{"dataDir=DIR\nclientPort=1\nserver.1=127.0.0.1:1", `server.1: "127.0.0.1:1" is not of the form host:port:port`},
	} {
		path := write(t, directory, "zoo.cfg", strings.ReplaceAll(test.content, "DIR", directory))
		_, err := tcp.ReadServerConfig(path, "")
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), directory) {
			t.Errorf("%q: %v, not %s", test.content, err, test.want)
		}
	}
	write(t, directory, "myid", "me")
	path := write(t, directory, "zoo.cfg", "dataDir="+directory+"\nclientPort=1\n"+two)
	if _, err := tcp.ReadServerConfig(path, ""); err == nil || !strings.Contains(err.Error(), `myid: "me" is no number`) {
		t.Error(err)
	}
	if _, err := tcp.ReadServerConfig(filepath.Join(directory, "nowhere"), ""); err == nil {
		t.Error("a file was read that there is not")
	}
}
