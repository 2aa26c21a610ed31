package conform

import (
	"fmt"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// quotas tests the sizes of subtrees that a server keeps below /zookeeper/quota.
func (p *probe) quotas() {
	c := p.open()
	root := p.createRoot(c, "q")
	quota := "/zookeeper/quota" + root
	limits, stats := quota+"/zookeeper_limits", quota+"/zookeeper_stats"
	c.call(createSized(root+"/a", 7))
	c.call(create(quota))
	c.call(createData(limits, "count=3,bytes=10"))
	c.call(createData(stats, "count=0,bytes=0"))
	size := func(what string) {
		r := c.call(read(wire.OpGetData, stats))
		p.fact("%s: %s, length %d, version %d", what, r.Data, r.Stat.DataLength, r.Stat.Version)
	}
	size("size of a subtree with two nodes")
	p.fact("create beyond the limits -> %v", c.call(createSized(root+"/a/b", 20)))
	size("after a create")
	c.call(setData(root+"/a/b", []byte("four"), anyVersion))
	c.call(setData(root, nil, anyVersion))
	size("after setData")
	c.call(createFlags(root+"/e", wire.Ephemeral))
	c.call(multi(createSized(root+"/m", 5), deleteNode(root+"/a/b")))
	c.call(multi(createSized(root+"/n", 5), deleteNode(root+"/a/b")))
	size("after multis, the second of which fails")
	c.close()
	c = p.open()
	size("after the end of an ephemeral node")
	p.innerQuota(c, root, quota, size)
	c.call(setData(stats, []byte("bytes=5=;x=7;b==4;count=+2"), anyVersion))
	c.call(deleteNode(root + "/m"))
	size("after setData of the size and a delete")
	c.call(deleteNode(limits))
	c.call(createSized(root+"/m", 1))
	size("after a create without limits")
	c.call(createData(limits, "x"))
	c.call(deleteNode(stats))
	c.call(deleteNode(root + "/m"))
	r := c.call(createOp(wire.OpCreate2, stats, wire.Persistent))
	p.fact("length in the reply to create2 of a size: %d", r.Stat.DataLength)
	size("size after it")
	c.deleteAll(quota)
}

// innerQuota tests a quota within the subtree of another: only the inner size changes.
func (p *probe) innerQuota(c *session, root, quota string, size func(what string)) {
	c.call(create(quota + "/a"))
	c.call(createData(quota+"/a/zookeeper_limits", "count=-1,bytes=-1"))
	c.call(createSized(root+"/a/c", 3))
	size("size of a subtree with a quota inside that has no size")
	c.call(createData(quota+"/a/zookeeper_stats", ""))
	c.call(createSized(root+"/a/d", 3))
	size("size with a quota inside")
	r := c.call(read(wire.OpGetData, quota+"/a/zookeeper_stats"))
	p.fact("size of the inner subtree: %s", r.Data)
}

func createSized(path string, length int) *wire.Request {
	return createData(path, fmt.Sprintf("%0*d", length, 0))
}

func createData(path, data string) *wire.Request {
	r := create(path)
	r.Data = []byte(data)
	return r
}
