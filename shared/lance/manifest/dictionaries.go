package manifest

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/internal/dictionary"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/storage/objectstore"
)

// A reader reads ranges of the file of a manifest.
type reader func(offset, length int64) ([]byte, error)

// part reads from the window, and fails for a range that begins before it.
func (w window) part(offset, length int64) ([]byte, error) {
	if offset < w.from || length < 0 || offset-w.from > int64(len(w.bytes)) || length > int64(len(w.bytes))-(offset-w.from) {
		return nil, corrupt("%d bytes at %d of %d", length, offset, w.size)
	}
	return w.bytes[offset-w.from:][:length], nil
}

// partOf returns a reader of the object that info describes. It takes ranges in the tail
// from memory, and reads ranges before it from the store.
func partOf(ctx context.Context, store objectstore.Store, key string, tail []byte, info objectstore.Info) reader {
	here := window{bytes: tail, from: info.Size - int64(len(tail)), size: info.Size}
	return func(offset, length int64) ([]byte, error) {
		if offset >= here.from {
			return here.part(offset, length)
		}
		if length == 0 {
			return nil, nil
		}
		return readRange(ctx, store, key, info, offset, length)
	}
}

// takeDictionaries reads the dictionaries of a table of legacy data files and removes their
// locations from the schema, because a location is valid in one file only. A field whose type
// cannot have a dictionary is skipped, so that the other columns stay readable.
func (m *Manifest) takeDictionaries(size int64, read reader) error {
	if version, err := m.FileVersion(); err != nil || version != lance.Legacy {
		return nil //nolint:nilerr // CheckReadable rejects an unknown version
	}
	m.Dictionaries = map[int32]arrow.Array{}
	read = once(size, read)
	for _, field := range dictionary.Fields(m.Schema) {
		t := dictionary.TypeOf(field).ValueType
		place, found, err := dictionary.PlaceIn(field.Unknown)
		if err == nil && (!found || !dictionary.Holds(t)) {
			continue
		}
		if err == nil {
			m.Dictionaries[field.ID], err = place.Read(t, size, read)
		}
		if err != nil {
			return fmt.Errorf("field %s of version %d: %w", m.Schema.Path(field.ID), m.Version, err)
		}
		field.Unknown = dictionary.WithoutPlace(field.Unknown)
	}
	return nil
}

// once fails when more bytes are read in total than the file has. Valid dictionaries do not
// overlap, and overlapping ones could claim much memory.
func once(size int64, read reader) reader {
	total := int64(0)
	return func(offset, length int64) ([]byte, error) {
		if total += length; total > size {
			return nil, corrupt("dictionaries of more than its %d bytes", size)
		}
		return read(offset, length)
	}
}

// SetSchema replaces the schema of the table. Fields that remain keep their dictionaries.
func (m *Manifest) SetSchema(s *schema.Schema) {
	kept := map[int32]arrow.Array{}
	for _, field := range dictionary.Fields(s) {
		if values := m.Dictionaries[field.ID]; values != nil && arrow.TypeEqual(values.DataType(), dictionary.TypeOf(field).ValueType) {
			kept[field.ID] = values
		}
	}
	m.Schema, m.Dictionaries = s, kept
}

// appendDictionaries writes the dictionaries of a table of legacy data files, and records
// their places in the messages of the fields.
func (m *Manifest) appendDictionaries(e *pb.Encoder, fields []*pb.Field) error {
	if version, err := m.FileVersion(); err != nil || version != lance.Legacy {
		return nil //nolint:nilerr // as takeDictionaries does
	}
	byID := make(map[int32]*pb.Field, len(fields))
	for _, field := range fields {
		byID[field.ID] = field
	}
	for _, field := range dictionary.Fields(m.Schema) {
		values := m.Dictionaries[field.ID]
		if values == nil {
			continue // nothing is committed then; see checkLegacy
		}
		var place dictionary.Place
		var err error
		if e.B, place, err = dictionary.Append(e.B, 0, values); err != nil {
			return fmt.Errorf("field %s: %w", m.Schema.Path(field.ID), err)
		}
		byID[field.ID].Unknown = dictionary.WithPlace(field.Unknown, place)
	}
	return nil
}

// DictionaryBytes estimates the memory of the dictionaries.
func (m *Manifest) DictionaryBytes() int64 {
	total := int64(0)
	for _, values := range m.Dictionaries {
		total += int64(values.Data().SizeInBytes())
	}
	return total
}
