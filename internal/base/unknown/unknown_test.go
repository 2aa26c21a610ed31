package unknown_test

import (
	"testing"

	"github.com/interlock-sim/interlock/internal/base/unknown"
)

func TestName(t *testing.T) {
	known := []string{"mutex", "rwmutex", "cut", "crash", "crush", "fair-suffixes"}
	for name, want := range map[string]string{
		"mutx":          `unknown lock "mutx": did you mean mutex?`,
		"mutexx":        `unknown lock "mutexx": did you mean mutex?`,
		"mutxe":         `unknown lock "mutxe": did you mean mutex?`, // swapped letters
		"rvmutex":       `unknown lock "rvmutex": did you mean rwmutex?`,
		"fair-sufixes":  `unknown lock "fair-sufixes": did you mean fair-suffixes?`,
		"cat":           `unknown lock "cat": did you mean cut?`,
		"crosh":         `unknown lock "crosh": did you mean crash or crush?`,
		"ct":            `unknown lock "ct": did you mean cut?`,
		"cxt1":          `unknown lock "cxt1"; known are mutex, rwmutex, cut, crash, crush, fair-suffixes`,
		"":              `unknown lock ""; known are mutex, rwmutex, cut, crash, crush, fair-suffixes`,
		"fairSuffixess": `unknown lock "fairSuffixess"; known are mutex, rwmutex, cut, crash, crush, fair-suffixes`,
	} {
		if got := unknown.Name("lock", name, known).Error(); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
