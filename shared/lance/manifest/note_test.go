package manifest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tiltyard/shared/lance"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

func TestNotesTravelInTheFile(t *testing.T) {
	files, err := filepath.Glob("testdata/*/_versions/*.manifest")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, name := range files {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, note := range [][]byte{[]byte(`{"k":"v"}`), {}, bytes.Repeat([]byte("long"), 20_000)} {
			noted, err := WithNote(file, note)
			if err != nil {
				t.Fatal(err)
			}
			m, err := Parse(noted)
			if err != nil || m.Version != plain.Version || len(m.Fragments) != len(plain.Fragments) || !bytes.Equal(m.transaction, plain.transaction) {
				t.Errorf("%s: with a note of %d bytes it is another manifest (%v)", name, len(note), err)
			}
			got, err := readNote(t, noted)
			if err != nil || !bytes.Equal(got, note) || got == nil {
				t.Errorf("%s: got a note of %d bytes (%v), want %d", name, len(got), err, len(note))
			}
		}
		if got, err := readNote(t, file); err != nil || got != nil {
			t.Errorf("%s: got the note %q (%v), want none", name, got, err)
		}
	}
}

func TestNotesThatAreTooLong(t *testing.T) {
	if _, err := WithNote(minimal(), make([]byte, MaxNoteBytes+1)); err == nil {
		t.Error("a note over the limit is taken")
	}
	lying, err := WithNote(minimal(), []byte("note"))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(lying, []byte(noteMagic)) - 1
	lying[at] = 0xff
	if _, err := readNote(t, lying); !errors.Is(err, lance.ErrCorrupt) {
		t.Errorf("a note longer than its file: got %v, want ErrCorrupt", err)
	}
}

// minimal is a file of an empty Manifest message.
func minimal() []byte {
	return append(make([]byte, lengthLen+8+2), append([]byte{2, 0}, magic...)...)
}

// readNote reads the note of a file, in no more than three requests.
func readNote(t testing.TB, file []byte) ([]byte, error) {
	t.Helper()
	store := faultstore.New(memstore.New(), nil)
	if _, err := store.Put(t.Context(), "m", file, objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	store.Reset()
	note, err := ReadNote(t.Context(), store, "m", int64(len(file)))
	if asked := store.Snapshot().Requests; asked > 3 {
		t.Errorf("%d requests for a note", asked)
	}
	return note, err
}

func FuzzReadNote(f *testing.F) {
	noted, err := WithNote(minimal(), []byte("note"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(noted)
	f.Add(minimal())
	f.Fuzz(func(t *testing.T, file []byte) {
		if len(file) == 0 {
			return
		}
		note, err := readNote(t, file)
		if err == nil && len(note) > len(file) {
			t.Errorf("a note of %d bytes in a file of %d", len(note), len(file))
		}
	})
}
