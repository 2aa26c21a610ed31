package recording

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// inTermsOfJSON returns an error of package json, without Go's types if a value has a wrong one.
func inTermsOfJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	if wrong.Field == "" {
		return fmt.Errorf("it holds %s, not %s", withArticle(wrong.Value), typeInJSON(wrong.Type))
	}
	// Package json puts the name of an embedded struct before a field.
	field := strings.TrimPrefix(wrong.Field, "Dimensions.")
	return fmt.Errorf("the field %s must be %s, not %s", field, typeInJSON(wrong.Type),
		withArticle(wrong.Value))
}

// withArticle returns the description of a value of JSON, such as "number -1", with its article.
func withArticle(value string) string {
	switch value {
	case "array", "object":
		return "an " + value
	case "bool":
		return "true or false"
	}
	return "a " + value
}

// typeInJSON names a Go type as users of JSON do.
func typeInJSON(t reflect.Type) string {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return "a string"
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint64:
		return "a whole number from 0 to 2^64-1"
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return "a small number from 0 on"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct:
		return "an object"
	}
	return "a string"
}
