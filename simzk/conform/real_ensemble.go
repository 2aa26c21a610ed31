package conform

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// StartRealEnsemble starts an ensemble of ZooKeeper servers of Debian's package on free loopback
// ports, and returns the addresses for clients when all servers serve. The servers have the
// settings of [StartReal], and subdirectories of the directory, which must exist. stop kills them,
// as does the end of the context.
//
// The error is [ErrNotInstalled] if java or the package is missing, or the context's error.
func StartRealEnsemble(ctx context.Context, directory string, servers int) (addresses []string,
	stop func() error, err error,
) {
	members, err := NewRealEnsemble(directory, servers)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range members {
		addresses = append(addresses, s.Address)
	}
	return addresses, func() error { return killAll(members) }, StartAll(ctx, members)
}

// StartAll starts servers at once, because none serves without a majority. If one does not start,
// it kills the others.
func StartAll(ctx context.Context, servers []*RealServer) (err error) {
	failures := make(chan error, len(servers))
	for _, s := range servers {
		go func() { failures <- s.Start(ctx) }()
	}
	for range servers {
		err = errors.Join(err, <-failures)
	}
	if err != nil {
		err = errors.Join(err, killAll(servers))
	}
	return err
}

func killAll(servers []*RealServer) (err error) {
	for _, s := range servers {
		err = errors.Join(err, s.Kill())
	}
	return err
}

// configureEnsemble writes the configurations of all servers.
func configureEnsemble(directory string, servers int) (addresses, directories []string, err error) {
	members := []string{"initLimit=20", "syncLimit=10"}
	for id := 1; id <= servers; id++ {
		var ports [3]string
		var address string
		for i := range ports {
			if address, err = freeAddress(); err != nil {
				return nil, nil, err
			}
			if _, ports[i], err = net.SplitHostPort(address); err != nil {
				return nil, nil, err
			}
		}
		addresses = append(addresses, address)
		members = append(members, fmt.Sprintf("server.%d=127.0.0.1:%s:%s", id, ports[0], ports[1]))
	}
	for i, address := range addresses {
		own := filepath.Join(directory, strconv.Itoa(i+1))
		directories = append(directories, own)
		err = errors.Join(err, os.MkdirAll(filepath.Join(own, "data"), 0o755),
			os.WriteFile(filepath.Join(own, "data", "myid"), []byte(strconv.Itoa(i+1)), 0o644),
			configureReal(own, address, members...))
	}
	return addresses, directories, err
}
