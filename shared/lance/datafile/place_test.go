package datafile

import (
	"bytes"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/lance"
)

// soleValues writes a file of one column with values, nil for NULL.
func soleValues(t *testing.T, version lance.Version, column arrow.DataType, values ...[]byte) []byte {
	t.Helper()
	as := arrow.NewSchema([]arrow.Field{{Name: "v", Type: column, Nullable: true}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, as)
	for _, v := range values {
		if v == nil {
			b.Field(0).AppendNull()
		} else {
			b.Field(0).(*array.BinaryBuilder).Append(v)
		}
	}
	data, _ := writeFile(t, as, version, b.NewRecordBatch())
	return data
}

// placedIn returns the place of the value of a file.
func placedIn(t *testing.T, data []byte, first, last int64) (*File, *Placed) {
	t.Helper()
	f, err := openBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Placed(t.Context(), s.Fields[0], first, last)
	if err != nil {
		t.Fatal(err)
	}
	return f, p
}

func TestValuesAreReadInParts(t *testing.T) {
	value := make([]byte, 300_000)
	for i := range value {
		value[i] = byte(i >> 8)
	}
	f, p := placedIn(t, soleValues(t, lance.V2_2, arrow.BinaryTypes.LargeBinary, value), 100, 1000)
	if p == nil || p.Size != int64(len(value)) || !bytes.Equal(p.First, value[:100]) || !bytes.Equal(p.Last, value[len(value)-1000:]) {
		t.Fatalf("got %+v", p)
	}
	spans := []Span{{p.From + 5000, 70_000}, {p.From, 1}, {p.From + p.Size, 0}, {p.From + 60_000, 200_000}}
	read, err := f.ReadSpans(t.Context(), spans...)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range spans {
		if at := s.From - p.From; !bytes.Equal(read[i], value[at:at+s.Size]) {
			t.Errorf("bytes %+v differ", s)
		}
	}
	for _, s := range []Span{{-1, 5}, {0, -1}, {f.Size() - 1, 2}} {
		if _, err := f.ReadSpans(t.Context(), s); err == nil {
			t.Errorf("bytes %+v were read", s)
		}
	}
}

func TestOtherValuesHaveNoPlace(t *testing.T) {
	value := bytes.Repeat([]byte("value "), 20_000)
	large := arrow.BinaryTypes.LargeBinary
	damaged := soleValues(t, lance.V2_2, large, value)
	damaged[8]++ // the length
	for name, data := range map[string][]byte{
		"two rows":       soleValues(t, lance.V2_2, large, value, value),
		"NULL":           soleValues(t, lance.V2_2, large, nil),
		"other type":     soleValues(t, lance.V2_2, arrow.BinaryTypes.Binary, value),
		"version 2.1":    soleValues(t, lance.V2_1, large, value),
		"version 2.0":    soleValues(t, lance.V2_0, large, value),
		"damaged":        damaged,
		"an empty value": soleValues(t, lance.V2_2, large, []byte{}),
	} {
		if _, p := placedIn(t, data, 10, 10); p != nil {
			t.Errorf("%s: got %+v", name, p)
		}
	}
	if _, p := placedIn(t, soleValues(t, lance.V2_2, large, value), 1<<20, 1<<20); p == nil || !slices.Equal(p.First, value) || !slices.Equal(p.Last, value) {
		t.Error("edges that are longer than the value are not the value")
	}
}
