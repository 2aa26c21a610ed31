package faults_test

import (
	"fmt"

	"github.com/interlock-sim/interlock/faults"
)

// The leader stops once while a process has the lock, and up to two connections break at any time.
func ExampleMustParse() {
	plan := faults.MustParse("kill-server:leader@hold=1,cut=2")
	fmt.Println(plan)
	fmt.Println(plan.Allows(faults.Cut), plan.Allows(faults.Expire))
	// Output:
	// cut=2,kill-server:leader@hold=1
	// true false
}
