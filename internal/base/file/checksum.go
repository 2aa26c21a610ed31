package file

import (
	"encoding/json"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// Checksum returns a checksum of the value in its JSON form. It finds damage, not forgery.
func Checksum(value any) string {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err) // The values that the module stores can be encoded.
	}
	return fmt.Sprintf("%016x", xxhash.Sum64(content))
}
