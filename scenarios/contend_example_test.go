package scenarios_test

import (
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/scenarios"
)

// A test passes the scenario to Check, and the command interlock test runs it.
func ExampleContend() {
	scenario := scenarios.Contend("lock", func(p *scenarios.Process) (*scenarios.Hold, error) {
		conn, _, err := zk.Connect(p.Servers(), 10*time.Second)
		if err != nil {
			return nil, err
		}
		lock := zk.NewLock(conn, p.Directory+"/lock", zk.WorldACL(zk.PermAll))
		return scenarios.Held(lock.Unlock, nil), lock.Lock()
	})
	scenario.Faults = faults.Of(faults.Any, 2)
	fmt.Println(scenario.Clients, scenario.Faults, scenario.Validate())
	// Output: 3 any=2 <nil>
}
