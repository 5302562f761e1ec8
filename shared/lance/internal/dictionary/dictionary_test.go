package dictionary_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/dictionary"
)

func texts(t testing.TB, values ...string) arrow.Array {
	t.Helper()
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for _, v := range values {
		if v == "" {
			b.AppendNull()
		} else {
			b.Append(v)
		}
	}
	return b.NewArray()
}

// The bytes equal those that pylance 14.0.2 puts before a manifest's messages.
func TestValuesLieAsNativeLanceWritesThem(t *testing.T) {
	b := array.NewInt32Builder(memory.DefaultAllocator)
	b.AppendValues([]int32{5, 6, 7}, nil)
	file, first, err := dictionary.Append(nil, 0, texts(t, "a", "bb", "", "ccc"))
	if err != nil {
		t.Fatal(err)
	}
	file, second, err := dictionary.Append(file, 0, b.NewArray())
	if err != nil {
		t.Fatal(err)
	}
	want := "abbccc" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00" +
		"\x03\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00" +
		"\x05\x00\x00\x00\x06\x00\x00\x00\x07\x00\x00\x00"
	if string(file) != want || first != (dictionary.Place{6, 4}) || second != (dictionary.Place{46, 3}) {
		t.Errorf("got %q, %+v, %+v, want %q", file, first, second, want)
	}
}

func TestValuesThatLieElsewhereAreTheSame(t *testing.T) {
	for _, values := range []arrow.Array{texts(t), texts(t, ""), texts(t, "a", "", "bb", "a")} {
		for _, from := range []int64{0, 1, 1 << 20} {
			file, place, err := dictionary.Append(nil, from, values)
			if err != nil {
				t.Fatal(err)
			}
			got, err := place.Read(values.DataType(), from+int64(len(file)), func(offset, length int64) ([]byte, error) {
				return file[offset-from:][:length], nil
			})
			if err != nil || !dictionary.Equal(got, values) {
				t.Errorf("from %d: got %v, %v, want %v", from, got, err, values)
			}
		}
	}
}

func TestTypesThatNoDictionaryHasAreUnsupported(t *testing.T) {
	b := array.NewFloat32Builder(memory.DefaultAllocator)
	if _, _, err := dictionary.Append(nil, 0, b.NewArray()); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("got error %v", err)
	}
}

func TestPlacesAreKeptBesideOtherFields(t *testing.T) {
	other := []byte{0x98, 0x06, 0x01} // field 99
	with := dictionary.WithPlace(other, dictionary.Place{7, 3})
	if p, ok, err := dictionary.PlaceIn(with); p != (dictionary.Place{7, 3}) || !ok || err != nil {
		t.Errorf("got %+v, %v, %v", p, ok, err)
	}
	if again := dictionary.WithPlace(with, dictionary.Place{8, 3}); len(again) != len(with) || !bytes.Equal(dictionary.WithoutPlace(again), other) {
		t.Errorf("got %x of %x", again, with)
	}
	if _, ok, err := dictionary.PlaceIn(other); ok || err != nil {
		t.Errorf("got %v, %v where there is none", ok, err)
	}
}

// Read gets along with whatever a file holds, within its size.
func FuzzRead(f *testing.F) {
	types := []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeBinary, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint64}
	for _, values := range []arrow.Array{texts(f), texts(f, "a", "", "bb", "a")} {
		file, place, err := dictionary.Append([]byte("head"), 0, values)
		if err != nil {
			f.Fatal(err)
		}
		for i := range types {
			f.Add(file, place.Offset, place.Length, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, file []byte, offset, length int64, kind uint8) {
		typ, size := types[int(kind)%len(types)], int64(len(file))
		if offset < 0 || length < 0 {
			return // see PlaceIn
		}
		values, err := dictionary.Place{offset, length}.Read(typ, size, func(offset, length int64) ([]byte, error) {
			if offset < 0 || length < 0 || offset > size || length > size-offset {
				t.Fatalf("%d bytes at %d of %d are asked for", length, offset, size)
			}
			return file[offset:][:length], nil
		})
		if err != nil {
			if !errors.Is(err, lance.ErrCorrupt) {
				t.Fatalf("error %v is of no kind", err)
			}
			return
		}
		moved, place, err := dictionary.Append(nil, 9, values)
		if err != nil {
			t.Fatal(err)
		}
		again, err := place.Read(typ, 9+int64(len(moved)), func(offset, length int64) ([]byte, error) { return moved[offset-9:][:length], nil })
		if err != nil || !dictionary.Equal(values, again) {
			t.Fatalf("the second reading differs: %v", err)
		}
	})
}
