package stateset

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// Keys are keys in ascending order, as [Set.Sorted] returns them. As text they are base64 of 8
// bytes each.
type Keys []uint64

// MarshalText writes the keys.
func (k Keys) MarshalText() ([]byte, error) {
	raw := make([]byte, 0, 8*len(k))
	for _, key := range k {
		raw = binary.BigEndian.AppendUint64(raw, key)
	}
	return base64.StdEncoding.AppendEncode(nil, raw), nil
}

// UnmarshalText reads the keys.
func (k *Keys) UnmarshalText(text []byte) error {
	raw, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil || len(raw)%8 != 0 {
		return errors.New("a list of state keys is damaged")
	}
	*k = make(Keys, 0, len(raw)/8)
	for ; len(raw) > 0; raw = raw[8:] {
		*k = append(*k, binary.BigEndian.Uint64(raw))
	}
	return nil
}
