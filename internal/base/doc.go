// Package base groups small packages about Go and the operating system, which know nothing of
// locks. All other packages may import them.
package base
