package localhttp_test

import (
	"testing"

	"github.com/interlock-sim/interlock/internal/base/localhttp"
)

// Only addresses of this machine are accepted.
func TestCheckAddress(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:0": true, "localhost:80": true, "[::1]:0": true, "127.9.9.9:1": true,
		"0.0.0.0:0": false, ":0": false, "[::]:0": false, "10.0.0.1:80": false, "127.0.0.1": false,
		"example.com:80": false,
	} {
		if err := localhttp.CheckAddress(address); err == nil != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}
