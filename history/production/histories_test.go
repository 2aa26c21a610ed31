package production_test

import "github.com/interlock-sim/interlock/internal/testkit/eventtest"

var (
	lockCall     = eventtest.LockCall
	in           = eventtest.In
	shared       = eventtest.Shared
	lockOK       = eventtest.LockOK
	unlockCall   = eventtest.UnlockCall
	unlockOK     = eventtest.UnlockOK
	unlockFailed = eventtest.UnlockFailed
	on           = eventtest.On
	token        = eventtest.Token
	lost         = eventtest.Lost
	read         = eventtest.Read
	wrote        = eventtest.Wrote
	enter        = eventtest.Enter
)
