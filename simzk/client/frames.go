package client

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// Prefixes of the full names of functions.
var (
	packagePath   = reflect.TypeFor[Client]().PkgPath()
	clientsPrefix = packagePath + "/"
	clusterPrefix = strings.TrimSuffix(packagePath, "/client") + "."
)

// libraryPrefixes are those of the methods of go-zookeeper/zk's client and of its forks, and of the
// function that opens one.
var libraryPrefixes = func() (prefixes []string) {
	for _, library := range []string{
		reflect.TypeFor[zk.Conn]().PkgPath(), "github.com/samuel/go-zookeeper/zk",
		"github.com/z-division/go-zookeeper/zk",
	} {
		prefixes = append(prefixes, library+".(*Conn).", library+".Connect")
	}
	return prefixes
}()

// Simulates reports whether a function, by its full name, belongs to the simulated ensemble or to
// one of its clients.
func Simulates(function string) bool {
	return strings.HasPrefix(function, clientsPrefix) || strings.HasPrefix(function, clusterPrefix)
}

// OwnsCall reports whether a function, by its full name, lies between code that uses a client and
// the simulated network: the simulation has it, or it is a method of the client of
// go-zookeeper/zk or of a fork of it.
func OwnsCall(function string) bool {
	return Simulates(function) || slices.ContainsFunc(libraryPrefixes,
		func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}
