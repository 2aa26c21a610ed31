package lock

import "encoding/json"

// A record is what stands in the data of a contender's node, as JSON.
type record struct {
	Metadata string `json:"metadata,omitempty"`
	Shared   bool   `json:"shared,omitempty"` // the lock was held alone, and is shared now
}

// encode returns the data, none for a record that says nothing.
func (r record) encode() []byte {
	if r == (record{}) {
		return nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // A text and two truth values can always be marshalled.
	}
	return data
}

// parseRecord reads the data of a node. What somebody else has put there says nothing.
func parseRecord(data []byte) record {
	var r record
	if len(data) == 0 || json.Unmarshal(data, &r) != nil {
		return record{}
	}
	return r
}
