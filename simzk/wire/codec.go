package wire

// A Codec says how the requests of a type and their replies are encoded: as sequences of fields.
// Package operation has the codecs of all types.
type Codec struct {
	Request []Field
	Reply   []Field
	Multi   MultiKind
	Result  []Field // of the result in the reply to a multi
}

// A Field is a field of a record, or several that always come together.
type Field uint8

// The fields of requests and replies. Each is encoded from, and decoded into, the field of
// [Request], [Reply] or [Result] that the comment names.
const (
	FieldPath        Field = iota // Path
	FieldData                     // Data
	FieldACL                      // ACL
	FieldStat                     // Stat
	FieldFlags                    // Flags
	FieldVersion                  // Version
	FieldWatch                    // Watch
	FieldTTL                      // TTLMillis
	FieldMode                     // Mode
	FieldCredentials              // Type, Scheme and Data
	FieldToken                    // Data
	FieldWatches                  // Watches, of SetWatches
	FieldAllWatches               // Watches, of SetWatches2
	FieldReconfig                 // Reconfig
	FieldOperations               // Ops
	FieldResults                  // Results
	FieldChildren                 // Children
	FieldNumber                   // Number
	FieldIdentities               // Identities
	FieldOK                       // none: a code, which is always [OK]
)

// A MultiKind says which multis an operation may be part of. The operations of a multi are all
// reads or all writes.
type MultiKind uint8

// The kinds of operations in multis.
const (
	NotInMulti MultiKind = iota
	WriteInMulti
	ReadInMulti
)

// Codecs returns the codec of a type. It returns an empty codec for an unknown type. The codecs
// must not be changed.
type Codecs func(Op) *Codec
