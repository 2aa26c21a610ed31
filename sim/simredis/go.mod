module github.com/interlock-sim/interlock/sim/simredis

go 1.26.0

require (
	github.com/alicebob/miniredis/v2 v2.40.0
	github.com/cespare/xxhash/v2 v2.1.1
	github.com/interlock-sim/interlock v0.0.0
)

require github.com/yuin/gopher-lua v1.1.1 // indirect

replace github.com/interlock-sim/interlock => ../..
