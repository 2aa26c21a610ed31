// Package eventtest makes events and histories for tests of what judges them, and changes events
// for tests of their hashes. A process p of its events has the session 100+p.
package eventtest

import (
	"reflect"

	"github.com/interlock-sim/interlock/history"
)

// Alter changes a field of an event.
func Alter(field reflect.Value) {
	switch {
	case field.Type() == reflect.TypeFor[history.Kind]():
		field.SetUint(uint64(history.Crashed))
	case field.Kind() == reflect.Bool:
		field.SetBool(!field.Bool())
	case field.Kind() == reflect.Pointer && field.IsNil():
		field.Set(reflect.New(field.Type().Elem()))
	case field.Kind() == reflect.Pointer:
		field.SetZero()
	case field.CanInt():
		field.SetInt(field.Int() + 1)
	case field.CanUint():
		field.SetUint(field.Uint() + 1)
	default:
		field.SetString(field.String() + "x")
	}
}
