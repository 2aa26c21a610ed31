package subjects

import (
	"context"

	"github.com/go-zookeeper/zk"
	"github.com/interlock-sim/interlock/scenarios"
)

// resource returns a znode beside the lock's directory. Each write is a multi with a check of the
// holder's node.
func (r *recipeLock) resource() *scenarios.Resource {
	path, node, absent := r.directory+"-data", r.node, false
	return &scenarios.Resource{
		Path: path,
		Read: func(context.Context) (int64, error) {
			_, stat, err := r.client.Get(path)
			if absent = err == zk.ErrNoNode; absent {
				return 0, nil
			}
			if err != nil {
				return 0, err
			}
			return stat.Mzxid, nil
		},
		Write: func(context.Context) (int64, error) {
			var write any = &zk.SetDataRequest{Path: path, Version: -1}
			if absent {
				write = &zk.CreateRequest{Path: path, Acl: openACL}
			}
			_, err := r.client.Multi(&zk.CheckVersionRequest{Path: node, Version: 0}, write)
			return 0, err
		},
	}
}
