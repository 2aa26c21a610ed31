package engine

import "fmt"

// A TraceHash is the hash of a run's events, written as 16 hexadecimal digits.
type TraceHash uint64

// String returns the digits.
func (h TraceHash) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// MarshalText returns the digits.
func (h TraceHash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads the digits.
func (h *TraceHash) UnmarshalText(text []byte) error {
	if _, err := fmt.Sscanf(string(text), "%016x", (*uint64)(h)); err != nil || len(text) != 16 {
		return fmt.Errorf("%q is not a trace hash", text)
	}
	return nil
}
