package index

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
)

func encodedRows(t testing.TB, fragments map[uint32][]uint32) []byte {
	t.Helper()
	data := binary.LittleEndian.AppendUint32(nil, uint32(len(fragments)))
	for id, offsets := range fragments {
		rows, err := roaring.BitmapOf(offsets...).ToBytes()
		if err != nil {
			t.Fatal(err)
		}
		data = binary.LittleEndian.AppendUint32(data, id)
		data = binary.LittleEndian.AppendUint32(data, uint32(len(rows)))
		data = append(data, rows...)
	}
	return data
}

func TestRowsAreRead(t *testing.T) {
	set := rowset.At(1<<32 | 1)
	for _, fragments := range []map[uint32][]uint32{{}, {1: {2, 70000}}, {0: {5}, 3: {}, 4: {1 << 31}}} {
		if err := AddRows(set, encodedRows(t, fragments)); err != nil {
			t.Fatal(err)
		}
	}
	want := []uint64{5, 1<<32 | 1, 1<<32 | 2, 1<<32 | 70000, 4<<32 | 1<<31}
	if got := slices.Collect(set.All()); !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestRowsThatAreDamagedAreRefused(t *testing.T) {
	whole := encodedRows(t, map[uint32][]uint32{7: {1, 2, 3}})
	for cut := range whole {
		if err := AddRows(rowset.At(), whole[:cut]); !errors.Is(err, lance.ErrCorrupt) {
			t.Errorf("the first %d bytes: got %v, want lance.ErrCorrupt", cut, err)
		}
	}
	if err := AddRows(rowset.At(), append(whole, 0)); !errors.Is(err, lance.ErrCorrupt) {
		t.Errorf("a byte more: got %v, want lance.ErrCorrupt", err)
	}
	all := append([]byte{1, 0, 0, 0, 7, 0, 0, 0}, 0, 0, 0, 0)
	if err := AddRows(rowset.At(), all); !errors.Is(err, lance.ErrUnsupported) {
		t.Errorf("all rows: got %v, want lance.ErrUnsupported", err)
	}
}

func FuzzRows(f *testing.F) {
	f.Add(encodedRows(f, map[uint32][]uint32{7: {1, 2, 3}, 9: {1 << 20}}))
	f.Fuzz(func(_ *testing.T, data []byte) {
		set := rowset.At()
		if err := AddRows(set, data); err == nil {
			for range set.All() {
				break
			}
		}
	})
}

func FuzzTreemap(f *testing.F) {
	set := rowset.At(7<<32|1, 7<<32|3, 9<<32|1<<20)
	data := binary.LittleEndian.AppendUint64(nil, 2)
	for _, id := range []uint64{7, 9} {
		rows := roaring.New()
		for address := range set.All() {
			if address>>32 == id {
				rows.Add(uint32(address))
			}
		}
		bytes, err := rows.ToBytes()
		if err != nil {
			f.Fatal(err)
		}
		data = append(binary.LittleEndian.AppendUint32(data, uint32(id)), bytes...)
	}
	read := rowset.At()
	if err := AddTreemap(read, data); err != nil || !slices.Equal(slices.Collect(read.All()), slices.Collect(set.All())) {
		f.Fatalf("got %x, want %x; error %v", slices.Collect(read.All()), slices.Collect(set.All()), err)
	}
	for cut := range data {
		if err := AddTreemap(rowset.At(), data[:cut]); !errors.Is(err, lance.ErrCorrupt) {
			f.Errorf("the first %d bytes: got %v, want lance.ErrCorrupt", cut, err)
		}
	}
	f.Add(data)
	f.Fuzz(func(_ *testing.T, data []byte) {
		set := rowset.At()
		if err := AddTreemap(set, data); err == nil {
			for range set.All() {
				break
			}
		}
	})
}
