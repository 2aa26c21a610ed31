package lock

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"time"
)

// A guid distinguishes the nodes of one contender from all others. It is a hexadecimal number of
// guidLength digits.
type guid string

// newGUID draws a GUID for a contender.
func (q *queue) newGUID() (guid, error) {
	var drawn [guidLength / 2]byte
	q.randomMu.Lock()
	_, err := io.ReadFull(q.random, drawn[:])
	q.randomMu.Unlock()
	if err != nil {
		return "", fmt.Errorf("lock: reading randomness for a GUID: %w", err)
	}
	return guid(hex.EncodeToString(drawn[:])), nil
}

// spread returns a random duration, below the given one, that depends only on the GUID.
func (g guid) spread(most time.Duration) time.Duration {
	var drawn [2]byte
	if _, err := hex.Decode(drawn[:], []byte(g[:2*len(drawn)])); err != nil {
		panic(err) // newGUID has encoded it.
	}
	return time.Duration(float64(most) * float64(binary.BigEndian.Uint16(drawn[:])) / (1 << 16))
}
