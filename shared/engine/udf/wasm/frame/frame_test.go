package frame

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestFramesAreReadAsTheyWereWritten(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, Call, []byte("ab"), nil, []byte("c")); err != nil {
		t.Fatal(err)
	}
	if err := WriteJSON(&out, Failed, Failure{Type: Trap, Message: "m"}); err != nil {
		t.Fatal(err)
	}
	if want := "C\x03\x00\x00\x00abc"; out.String()[:8] != want {
		t.Errorf("got %q, want %q", out.String()[:8], want)
	}
	if size, err := Expect(&out, Call, 3); err != nil || size != 3 {
		t.Fatalf("got %d, %v", size, err)
	}
	out.Next(3)
	kind, size, err := Next(&out)
	if err != nil || kind != Failed {
		t.Fatalf("got %q, %v", kind, err)
	}
	var f Failure
	if err := ReadJSON(&out, size, &f); err != nil || f != (Failure{Type: Trap, Message: "m"}) {
		t.Errorf("got %+v, %v", f, err)
	}
	if _, _, err := Next(&out); !errors.Is(err, io.EOF) {
		t.Errorf("got %v at the end, want io.EOF", err)
	}
}

func TestFramesThatMayNotComeAreRefused(t *testing.T) {
	for text, want := range map[string]error{
		"C\x04\x00\x00\x00": ErrInvalid, // larger than allowed
		"R\x01\x00\x00\x00": ErrInvalid, // another kind
		"C\x01\x00":         io.ErrUnexpectedEOF,
		"":                  io.EOF,
	} {
		if _, err := Expect(bytes.NewReader([]byte(text)), Call, 3); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", text, err, want)
		}
	}
	var v any
	if err := ReadJSON(bytes.NewReader(nil), MaxText+1, &v); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want a limit", err)
	}
	if err := ReadJSON(bytes.NewReader([]byte("{}")), 3, &v); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want the end of the input", err)
	}
}

// Whatever comes, reading ends with an error that has a name, and takes no more than MaxText.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("C\x03\x00\x00\x00abcF\x02\x00\x00\x00{}"))
	f.Add([]byte("F\xff\xff\xff\xff{}"))
	f.Add([]byte("S\x0b\x00\x00\x00{\"open\":12}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		for r := bytes.NewReader(content); ; {
			kind, size, err := Next(r)
			if errors.Is(err, io.EOF) || errors.Is(err, ErrInvalid) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var into any = &Failure{}
			if kind == Setup {
				into = &Order{}
			}
			if err := ReadJSON(r, size, into); errors.Is(err, ErrInvalid) {
				return
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
}
