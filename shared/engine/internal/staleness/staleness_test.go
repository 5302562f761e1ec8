package staleness

import (
	"bytes"
	"errors"
	"maps"
	"testing"
)

func TestSidecars(t *testing.T) {
	s := Signatures{7: 0x0102030405060708, 0: 1}
	want := []byte("CSIG\x01\x02\x00\x00\x00" + "\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00" + "\x07\x00\x00\x00\x08\x07\x06\x05\x04\x03\x02\x01")
	if got := s.Encode(); !bytes.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, err := Decode(t.Context(), want); err != nil || !maps.Equal(got, s) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "CSIG", "CSIG\x02\x00\x00\x00\x00", "CSIG\x01\x01\x00\x00\x00", "CSIG\x01\x00\x00\x00\x00x", "CSIG\x01\xff\xff\xff\xff" + "123456789012"} {
		if _, err := Decode(t.Context(), []byte(bad)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: got %v, want ErrMalformed", bad, err)
		}
	}
	if got, err := decodeInline(`{"3":"00000000000000ff"}`); err != nil || got[3] != 255 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "[]", `{"x":"00"}`, `{"1":"zz"}`, `{"1":2}`} {
		if _, err := decodeInline(bad); !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: got %v, want ErrMalformed", bad, err)
		}
	}
}

// The digest is the one that lancedb 0.40 stores for the expression id * 2.
func TestDefinition(t *testing.T) {
	if got, want := Definition("id * 2"), "5fa7ae5ecae7bfad"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Signatures{7: 1}.Encode())
	f.Add([]byte("CSIG\x01\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Decode(t.Context(), b)
		if err != nil {
			return
		}
		again, err := Decode(t.Context(), s.Encode())
		if err != nil || !maps.Equal(s, again) {
			t.Errorf("got %v, %v; want %v", again, err, s)
		}
	})
}
