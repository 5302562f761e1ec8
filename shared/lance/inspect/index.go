package inspect

import (
	"bytes"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/manifest"
)

// indices describes the segments of the indices of a version.
func indices(m *manifest.Manifest, fields []Field) ([]Index, error) {
	found, err := m.Indices()
	if err != nil {
		return nil, err
	}
	paths := make(map[int32]string, len(fields))
	for _, f := range fields {
		paths[f.ID] = f.Path
	}
	list := make([]Index, 0, len(found))
	for _, x := range found {
		index := Index{Name: x.Name, Type: indexType(x.Details), UUID: x.UUID.String(), Built: x.DatasetVersion}
		for _, id := range x.Fields {
			path, ok := paths[id]
			if !ok {
				path = fmt.Sprintf("(dropped field %d)", id)
			}
			index.Fields = append(index.Fields, path)
		}
		for i := range x.Files {
			index.Bytes += x.Files[i].SizeBytes
		}
		covered, err := bitmap(x.FragmentBitmap)
		if err != nil {
			return nil, fmt.Errorf("fragments of index %s: %w", shown(x.Name), err)
		}
		for _, f := range m.Fragments {
			if f.ID <= 1<<32-1 && covered.Contains(uint32(f.ID)) {
				index.Fragments = append(index.Fragments, f.ID)
			}
		}
		list = append(list, index)
	}
	return list, nil
}

// bitmap decodes a portable roaring bitmap. No bytes are an empty bitmap.
func bitmap(data []byte) (*roaring.Bitmap, error) {
	bits := roaring.New()
	if len(data) == 0 {
		return bits, nil
	}
	if _, err := bits.ReadFrom(bytes.NewReader(data)); err != nil {
		return nil, fmt.Errorf("%w: %w", lance.ErrCorrupt, err)
	}
	return bits, nil
}
