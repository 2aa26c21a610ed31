package wire_test

import (
	"bytes"
	"testing"

	"github.com/interlock-sim/interlock/simzk/wire"
)

// TestText compares Text with new String(bytes, UTF_8) of Java 17.
func TestText(t *testing.T) {
	for sent, want := range map[string]string{
		"":                                 "",
		"/a":                               "/a",
		"/\u00e9\u20ac\U0001f600":          "/\u00e9\u20ac\U0001f600",
		"\ufffd":                           "\ufffd",
		"\xff":                             "\ufffd",
		"\xfe\xfe":                         "\ufffd\ufffd",
		"\x80a":                            "\ufffda",
		"\xc3":                             "\ufffd",
		"\xc3(":                            "\ufffd(",
		"\xc0\x80":                         "\ufffd\ufffd",
		"\xe2\x82":                         "\ufffd",
		"\xe2\x82a":                        "\ufffda",
		"\xe2(\xa1":                        "\ufffd(\ufffd",
		"\xe0\x80\x80":                     "\ufffd\ufffd\ufffd",
		"\xe0\xa0":                         "\ufffd",
		"\xed\xa0\x80":                     "\ufffd",
		"\xed\xa0":                         "\ufffd",
		"\xed\xa0a":                        "\ufffda",
		"\xed\xa0\xbd\xed\xb8\x80":         "\ufffd\ufffd",
		"\xf0\x9f\x98":                     "\ufffd",
		"\xf0\x9fa":                        "\ufffda",
		"\xf0\x80\x80\x80":                 "\ufffd\ufffd\ufffd\ufffd",
		"\xf1\x80\x80\xf4\x8f\xbf\xf4\x90": "\ufffd\ufffd\ufffd\ufffd",
		"\xf4\x90\x80\x80":                 "\ufffd\ufffd\ufffd\ufffd",
		"\xf5\x80":                         "\ufffd\ufffd",
	} {
		if got := wire.Text([]byte(sent)); got != want {
			t.Errorf("%q is read as %q, want %q", sent, got, want)
		}
	}
}

// TestSurrogates encodes and decodes characters beyond 16 bits as a server does.
func TestSurrogates(t *testing.T) {
	for _, test := range []struct {
		name, path, octets string
		same               bool // a server sends these octets
	}{
		{"one character", "/\U0001f600!", `00000008 2f eda0bdedb880 21`, true},
		{
			"the first and the last", "\U00010000\U0010ffff", `0000000c eda080edb080 edafbfedbfbf`,
			true,
		},
		{"the same as UTF-8", "/\U0001f600!", `00000006 2f f09f9880 21`, false},
		{"a single surrogate", "\xed\xa0\xbd!", `00000004 eda0bd 21`, true},
		{"two high surrogates", "\xed\xa0\xbd\U0001f600", `00000009 eda0bd eda0bdedb880`, true},
		{"the wrong order", "\xed\xb8\x80\xed\xa0\xbd", `00000006 edb880 eda0bd`, true},
		{"truncated surrogate", "\xed\xa0", `00000002 eda0`, true},
		{"no surrogate", "\ud7ff", `00000003 ed9fbf`, true},
	} {
		event := wire.Event{
			Type: wire.EventDeleted, State: wire.StateSyncConnected, Path: test.path,
			Zxid: -1,
		}
		octets := octets(`ffffffff ffffffffffffffff 00000000 00000002 00000003` + test.octets)
		var got wire.Event
		if err := wire.DecodeEvent(octets, &got); err != nil || got != event {
			t.Errorf("%s: decoded as %q, error %v, want %q", test.name, got.Path, err, test.path)
		}
		if encoded := wire.AppendEvent(nil, &event); test.same != bytes.Equal(encoded, octets) {
			t.Errorf("%s: encoded as %x", test.name, encoded)
		}
	}
}
