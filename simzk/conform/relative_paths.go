package conform

import "github.com/interlock-sim/interlock/simzk/wire"

// relativePaths tests reads of paths that do not begin with a slash.
func (p *probe) relativePaths() {
	c := p.open()
	root := p.createRoot(c, "r")
	c.call(createFlags(root+"/e", wire.Ephemeral))
	for _, prefix := range []string{" \t", "\x00 /\x1f", "\u00a0", " " + root} {
		r := c.call(read(wire.OpGetEphemerals, prefix))
		p.fact("getEphemerals below %q -> %v, %d paths", prefix, r, len(r.Children))
	}
	c.call(watches(wire.OpAddWatch, root, wire.RecursiveWatch))
	for _, path := range []string{"x", "x/a", ""} {
		p.fact("checkWatches of %q beside a recursive watch -> %v", path,
			c.call(watches(wire.OpCheckWatches, path, wire.AnyWatcher)))
	}
}
