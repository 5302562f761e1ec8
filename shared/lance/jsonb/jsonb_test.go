package jsonb

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tiltyard/shared/lance"
)

// A golden is a text as native Lance stores and answers it.
type golden struct {
	Text   string `json:"text"`
	Stored string `json:"stored"` // hexadecimal; empty when it is refused
	Answer string `json:"answer"`
}

func goldens(t testing.TB) []golden {
	t.Helper()
	b, err := os.ReadFile("testdata/native.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTextsAreStoredAsByNativeLance(t *testing.T) {
	for _, g := range goldens(t) {
		got, err := Append(nil, g.Text)
		if g.Stored == "" {
			if !errors.Is(err, ErrSyntax) {
				t.Errorf("%q: got %x and error %v, want ErrSyntax", g.Text, got, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", g.Text, err)
		} else if got := hex.EncodeToString(got); got != g.Stored {
			t.Errorf("%q: got %s, want %s", g.Text, got, g.Stored)
		}
	}
}

func TestValuesAreToldAsByNativeLance(t *testing.T) {
	for _, g := range goldens(t) {
		stored, err := hex.DecodeString(g.Stored)
		if err != nil {
			t.Fatal(err)
		}
		if len(stored) == 0 {
			continue
		}
		got, err := AppendText(nil, stored)
		if err != nil || string(got) != g.Answer {
			t.Errorf("%q: got %s and error %v, want %s", g.Text, got, err, g.Answer)
		}
	}
}

// Older writers and other systems store decimals and dates.
func TestValuesThatAreNeverWrittenAreRead(t *testing.T) {
	cases := []struct{ name, value, want string }{
		{"decimal of 64 bits", "200000002000000a70fffffffffffffb2e02", "-12.34"},
		{"decimal of 128 bits", "200000002000001270000000000000000000000000000004d203", "1.234"},
		{"decimal of 128 bits and a precision", "200000002000001370000000000000000000000000000004d22603", "1.234"},
		{"date", "20000000600000051000004e20", ""},
		{"nothing", "", "null"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			value, err := hex.DecodeString(c.value)
			if err != nil {
				t.Fatal(err)
			}
			got, err := AppendText(nil, value)
			if string(got) != c.want || c.want == "" && !errors.Is(err, lance.ErrUnsupported) {
				t.Errorf("got %q and error %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestNestingIsBounded(t *testing.T) {
	for _, nest := range []string{"[", `{"a":`} {
		if _, err := Append(nil, strings.Repeat(nest, 1_000_000)); !errors.Is(err, ErrSyntax) {
			t.Errorf("text of a million %s: got %v, want ErrSyntax", nest, err)
		}
	}
	value := []byte{}
	for range 3 * maxDepth {
		value = append([]byte{0x80, 0, 0, 1, 0x50, 0, byte(len(value) >> 8), byte(len(value))}, value...)
	}
	if _, err := AppendText(nil, value); !errors.Is(err, lance.ErrCorrupt) {
		t.Errorf("deep value: got %v, want ErrCorrupt", err)
	}
}

// Text from encoding/json has the same value after a round trip. Minus zero is excluded:
// encoding/json writes it as an integer, and no negative integer is zero.
func TestTextsSurviveTheRoundTrip(t *testing.T) {
	floats := rapid.Float64().Filter(func(f float64) bool { return f != 0 || !math.Signbit(f) })
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		kinds := []*rapid.Generator[any]{
			rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(), floats.AsAny(), rapid.Int64().AsAny(), rapid.Uint64().AsAny(),
		}
		if depth > 0 {
			kinds = append(kinds, rapid.SliceOfN(value(depth-1), 0, 4).AsAny(), rapid.MapOfN(rapid.String(), value(depth-1), 0, 4).AsAny())
		}
		return rapid.OneOf(kinds...)
	}
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(value(3).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		stored, err := Append(nil, string(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := AppendText(nil, stored)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := Append(nil, string(got))
		if err != nil || string(again) != string(stored) {
			t.Errorf("%s became %s, which is stored as %x and error %v, want %x", text, got, again, err, stored)
		}
		var want, have any
		if err := errors.Join(json.Unmarshal(text, &want), json.Unmarshal(got, &have)); err != nil {
			t.Fatal(err)
		}
		if a, b := canonical(t, want), canonical(t, have); a != b {
			t.Errorf("got %s, want %s", b, a)
		}
	})
}

func canonical(t *rapid.T, value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func FuzzAppendText(f *testing.F) {
	for _, g := range goldens(f) {
		value, err := hex.DecodeString(g.Stored)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		text, err := AppendText(nil, value)
		if err != nil {
			return
		}
		if !json.Valid(text) {
			t.Fatalf("%x became %q, which is not JSON", value, text)
		}
	})
}

func FuzzAppend(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(g.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := Append(nil, text)
		if err != nil {
			if utf8.ValidString(text) && json.Valid([]byte(text)) && !strings.Contains(err.Error(), "twice") && !strings.Contains(err.Error(), "deeper") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		told, err := AppendText(nil, value)
		if err != nil || !json.Valid(told) {
			t.Fatalf("%q became %x, which became %q and error %v", text, value, told, err)
		}
	})
}
