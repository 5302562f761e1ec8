package index

import (
	"bytes"
	"encoding/binary"

	"github.com/RoaringBitmap/roaring/v2"
)

// A RowEncoder encodes ascending rows in the format of [AddRows].
type RowEncoder struct {
	// Treemap selects the format of [AddTreemap] instead.
	Treemap bool

	encoded   []byte
	fragments uint64          // that have rows
	fragment  uint32          // of the last row
	offsets   *roaring.Bitmap // of rows of that fragment; nil before the first row
}

// Add adds a row. A repeated row is ignored.
func (e *RowEncoder) Add(row uint64) {
	if fragment := uint32(row >> 32); e.offsets == nil || fragment != e.fragment {
		e.endFragment()
		e.fragment, e.offsets = fragment, roaring.New()
	}
	e.offsets.Add(uint32(row))
}

// Size returns the encoded size in bytes, without the last fragment.
func (e *RowEncoder) Size() int64 { return int64(len(e.encoded)) }

// Bytes returns the rows, and begins anew. The bytes are good until the next row is added.
func (e *RowEncoder) Bytes() []byte {
	e.endFragment()
	e.head()
	if e.Treemap {
		binary.LittleEndian.PutUint64(e.encoded, e.fragments)
	} else {
		binary.LittleEndian.PutUint32(e.encoded, uint32(e.fragments))
	}
	encoded := e.encoded
	e.encoded, e.fragments, e.offsets = e.encoded[:0], 0, nil
	return encoded
}

// head makes room for the number of fragments.
func (e *RowEncoder) head() {
	if len(e.encoded) > 0 {
		return
	}
	e.encoded = append(e.encoded, 0, 0, 0, 0)
	if e.Treemap {
		e.encoded = append(e.encoded, 0, 0, 0, 0)
	}
}

// endFragment appends the roaring bitmap of the current fragment.
func (e *RowEncoder) endFragment() {
	if e.offsets == nil {
		return
	}
	e.head()
	e.fragments++
	e.offsets.RunOptimize()
	e.encoded = binary.LittleEndian.AppendUint32(e.encoded, e.fragment)
	if !e.Treemap {
		e.encoded = binary.LittleEndian.AppendUint32(e.encoded, uint32(e.offsets.GetSerializedSizeInBytes()))
	}
	portable := bytes.NewBuffer(e.encoded)
	_, _ = e.offsets.WriteTo(portable) // to memory, which does not fail
	e.encoded = portable.Bytes()
}
