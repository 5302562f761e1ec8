package index

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/rowset"
)

// AddRows adds to a set the rows that files of indices have as bytes:
//
//	u32 number of fragments, and for each
//	    u32 its id: the high half of the rows' addresses, or ids
//	    u32 how many bytes follow
//	    the low halves, as a roaring bitmap in its portable form
//
// Fragments of which no bytes follow are in the set as a whole, which no index of values writes:
// they are lance.ErrUnsupported.
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

// bitmap reads a roaring bitmap in its portable form.
func bitmap(data []byte) (rows *roaring.Bitmap, err error) {
	defer Contain(&err)
	rows = roaring.New()
	n, err := rows.ReadFrom(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if n != int64(len(data)) {
		return nil, fmt.Errorf("%d bytes are left over", int64(len(data))-n)
	}
	if rows.IsEmpty() {
		return rows, nil
	}
	return rows, rows.Validate()
}
