package text

import "testing"

func TestCaseFollowsUnicode(t *testing.T) {
	cases := []struct{ in, upper, lower string }{
		{"Straße", "STRASSE", "straße"},
		{"ŉ ﬃ ΐ", "ʼN FFI \u0399\u0308\u0301", "ŉ ﬃ ΐ"},
		{"İi", "İI", "i̇i"},
		{"ΟΔΟΣ ΣΑΣ", "ΟΔΟΣ ΣΑΣ", "οδος σας"},
		{"Σ", "Σ", "σ"},
		{"ΑΣ. Β", "ΑΣ. Β", "ας. β"},
		{"ΑΣ'Β", "ΑΣ'Β", "ασ'β"},
		{"日本ǅ", "日本Ǆ", "日本ǆ"},
	}
	for _, c := range cases {
		if got := string(appendUpper(nil, []byte(c.in))); got != c.upper {
			t.Errorf("upper(%q) = %q, want %q", c.in, got, c.upper)
		}
		if got := string(appendLower(nil, []byte(c.in))); got != c.lower {
			t.Errorf("lower(%q) = %q, want %q", c.in, got, c.lower)
		}
	}
}
