package client

import (
	"reflect"
	"strings"

	"github.com/go-zookeeper/zk"
)

// Prefixes of the full names of functions.
var (
	packagePath   = reflect.TypeFor[Client]().PkgPath()
	clientsPrefix = packagePath + "/"
	clusterPrefix = strings.TrimSuffix(packagePath, "/client") + "."
	libraryPrefix = reflect.TypeFor[zk.Conn]().PkgPath() + ".(*Conn)."
)

// Simulates reports whether a function, by its full name, belongs to the simulated ensemble or to
// one of its clients.
func Simulates(function string) bool {
	return strings.HasPrefix(function, clientsPrefix) || strings.HasPrefix(function, clusterPrefix)
}

// OwnsCall reports whether a function, by its full name, lies between code that uses a client and
// the simulated network: the simulation has it, or it is a method of go-zookeeper/zk's client.
func OwnsCall(function string) bool {
	return Simulates(function) || strings.HasPrefix(function, libraryPrefix)
}
