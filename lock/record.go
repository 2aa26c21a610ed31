package lock

import "encoding/json"

// A record is the content of a contender's node, encoded as JSON.
type record struct {
	Metadata string `json:"metadata,omitempty"`
	Shared   bool   `json:"shared,omitempty"` // the lock was exclusive and is shared now
}

// encode returns the data of the node, which are empty for an empty record.
func (r record) encode() []byte {
	if r == (record{}) {
		return nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		panic(err) // Strings and booleans can always be marshalled.
	}
	return data
}

// parseRecord parses the data of a node. Foreign data yield an empty record.
func parseRecord(data []byte) record {
	var r record
	if len(data) == 0 || json.Unmarshal(data, &r) != nil {
		return record{}
	}
	return r
}
