package main

import (
	"errors"
	"fmt"

	"github.com/interlock-sim/interlock/faults"
	"github.com/interlock-sim/interlock/scenarios"
)

// needFlags are the flags by which a scenario has what faults need.
var needFlags = map[faults.Need]string{
	faults.SeveralServers: "--servers",
	faults.ModelClient:    "--client",
	faults.RealClient:     "--client",
}

// inFlags returns an error of a scenario that flags describe. If the faults do not fit, it names
// their flag, and that of what they need.
func inFlags(err error) error {
	var unfit *scenarios.UnfitFaultsError
	if !errors.As(err, &unfit) {
		return err
	}
	if flag := needFlags[unfit.Needs]; flag != "" {
		return fmt.Errorf("--faults: %w (see %s)", err, flag)
	}
	return fmt.Errorf("--faults: %w", err)
}
