package index

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
)

// AddRows decodes rows from an index file and adds them to a set. The format is:
//
//	u32 number of fragments, and for each
//	    u32 its id: the high half of the rows' addresses, or ids
//	    u32 the number of bytes that follow
//	    the low halves, as a roaring bitmap in its portable form
//
// A fragment with zero bytes is in the set as a whole. Indices on values never write that, so it is
// lance.ErrUnsupported.
//
// Source: struct RowAddrTreeMap in mask.rs of crate lance-select.
func AddRows(set *rowset.Set, data []byte) error {
	r := bytes.NewReader(data)
	word := func() (w uint32, err error) { return w, binary.Read(r, binary.LittleEndian, &w) }
	fragments, err := word()
	if err != nil {
		return fmt.Errorf("%w: rows of %d bytes", lance.ErrCorrupt, len(data))
	}
	for range fragments {
		id, err := word()
		if err != nil {
			return fmt.Errorf("%w: rows are cut off", lance.ErrCorrupt)
		}
		size, err := word()
		if err != nil || int64(size) > int64(r.Len()) {
			return fmt.Errorf("%w: rows of fragment %d are cut off", lance.ErrCorrupt, id)
		}
		if size == 0 {
			return fmt.Errorf("%w: all rows of fragment %d", lance.ErrUnsupported, id)
		}
		at := len(data) - r.Len()
		rows, err := bitmap(data[at : at+int(size)])
		if err != nil {
			return fmt.Errorf("%w: rows of fragment %d: %w", lance.ErrCorrupt, id, err)
		}
		set.AddBitmap(uint64(id), rows)
		if _, err := r.Seek(int64(size), 1); err != nil {
			return err
		}
	}
	if r.Len() > 0 {
		return fmt.Errorf("%w: %d bytes behind rows", lance.ErrCorrupt, r.Len())
	}
	return nil
}

// AddTreemap adds to a set the rows that indices of the kind NGRAM have as bytes:
//
//	u64 number of fragments, and for each
//	    u32 its id: the high half of the rows' addresses, or ids
//	    the low halves, as a roaring bitmap in its portable form
//
// Source: struct RoaringTreemap of crate roaring, which is the portable form of 64-bit bitmaps.
func AddTreemap(set *rowset.Set, data []byte) error {
	r := bytes.NewReader(data)
	var fragments uint64
	if err := binary.Read(r, binary.LittleEndian, &fragments); err != nil {
		return fmt.Errorf("%w: rows of %d bytes", lance.ErrCorrupt, len(data))
	}
	for range fragments {
		var id uint32
		if err := binary.Read(r, binary.LittleEndian, &id); err != nil {
			return fmt.Errorf("%w: rows are cut off", lance.ErrCorrupt)
		}
		rows, err := readBitmap(r)
		if err != nil {
			return fmt.Errorf("%w: rows of fragment %d: %w", lance.ErrCorrupt, id, err)
		}
		set.AddBitmap(uint64(id), rows)
	}
	if r.Len() > 0 {
		return fmt.Errorf("%w: %d bytes behind rows", lance.ErrCorrupt, r.Len())
	}
	return nil
}

// bitmap decodes a portable roaring bitmap that fills all bytes.
func bitmap(data []byte) (*roaring.Bitmap, error) {
	r := bytes.NewReader(data)
	rows, err := readBitmap(r)
	if err == nil && r.Len() > 0 {
		return nil, fmt.Errorf("%d bytes are left over", r.Len())
	}
	return rows, err
}

// readBitmap reads a roaring bitmap in its portable form.
func readBitmap(r *bytes.Reader) (rows *roaring.Bitmap, err error) {
	defer Contain(&err)
	rows = roaring.New()
	if _, err := rows.ReadFrom(r); err != nil {
		return nil, err
	}
	if rows.IsEmpty() {
		return rows, nil
	}
	return rows, rows.Validate()
}
