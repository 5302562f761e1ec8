package pb

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// UpdateConfig changes key-value pairs of a table. Fields 1 to 4, which older writers used,
// are read as the equivalent fields 6 to 9.
//
//pb:operation 110 hand
type UpdateConfig struct {
	Config         *UpdateMap           // 6
	TableMetadata  *UpdateMap           // 7
	SchemaMetadata *UpdateMap           // 8
	FieldMetadata  map[int32]*UpdateMap // 9: by field id
	Unknown        []byte
}

// UpdateMap changes a map.
//
//pb:message
type UpdateMap struct {
	Entries []UpdateMapEntry `pb:"1"`
	Replace bool             `pb:"2"` // the entries are all that remains
	Unknown []byte
}

// UpdateMapEntry sets a key or, without a value, deletes it.
//
//pb:message
type UpdateMapEntry struct {
	Key     string  `pb:"1"`
	Value   *string `pb:"2"`
	Unknown []byte
}

// Unmarshal reads an encoded UpdateConfig.
func (o *UpdateConfig) Unmarshal(b []byte) error {
	*o = UpdateConfig{}
	s := NewScanner(b)
	for s.Next() {
		switch s.Num {
		case 1, 2, 3, 4:
			o.scanDeprecated(s)
		case 6:
			o.Config = new(UpdateMap)
			s.Message(o.Config.Unmarshal)
		case 7:
			o.TableMetadata = new(UpdateMap)
			s.Message(o.TableMetadata.Unmarshal)
		case 8:
			o.SchemaMetadata = new(UpdateMap)
			s.Message(o.SchemaMetadata.Unmarshal)
		case 9:
			update := new(UpdateMap)
			o.setFieldMetadata(scanUpdateEntry(s, update.Unmarshal), update)
		default:
			o.Unknown = append(o.Unknown, s.Raw()...)
		}
	}
	return s.Err()
}

// scanDeprecated reads upsert_values=1, delete_keys=2, schema_metadata=3 (a whole map)
// and field_metadata=4 (whole maps by field id).
func (o *UpdateConfig) scanDeprecated(s *Scanner) {
	switch s.Num {
	case 1:
		scanUpsert(s, &o.Config, false)
	case 2:
		if o.Config == nil {
			o.Config = new(UpdateMap)
		}
		o.Config.Entries = append(o.Config.Entries, UpdateMapEntry{Key: s.String()})
	case 3:
		scanUpsert(s, &o.SchemaMetadata, true)
	case 4:
		update := &UpdateMap{Replace: true}
		id := scanUpdateEntry(s, func(b []byte) error {
			sub := NewScanner(b)
			for sub.Next() {
				if sub.Num == 5 {
					scanUpsert(sub, &update, true)
				}
			}
			return sub.Err()
		})
		o.setFieldMetadata(id, update)
	}
}

// scanUpsert reads the current field, a map entry, and appends it to an UpdateMap.
func scanUpsert(s *Scanner, update **UpdateMap, replace bool) {
	if *update == nil {
		*update = new(UpdateMap)
	}
	(*update).Replace = replace
	var pair map[string]string
	ScanMapEntry(s, &pair)
	for key, value := range pair {
		(*update).Entries = append((*update).Entries, UpdateMapEntry{Key: key, Value: &value})
	}
}

func (o *UpdateConfig) setFieldMetadata(id int32, update *UpdateMap) {
	if o.FieldMetadata == nil {
		o.FieldMetadata = map[int32]*UpdateMap{}
	}
	o.FieldMetadata[id] = update
}

// scanUpdateEntry reads the current field as an entry of a map from field ids to messages.
func scanUpdateEntry(s *Scanner, decode func([]byte) error) (id int32) {
	s.Message(func(b []byte) error {
		entry := NewScanner(b)
		for entry.Next() {
			switch entry.Num {
			case 1:
				id = entry.Int32()
			case 2:
				entry.Message(decode)
			}
		}
		return entry.Err()
	})
	return id
}

// Marshal writes the UpdateConfig.
func (o *UpdateConfig) Marshal(e *Encoder) {
	for i, update := range []*UpdateMap{o.Config, o.TableMetadata, o.SchemaMetadata} {
		if update != nil {
			e.Message(protowire.Number(6+i), update.Marshal)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(o.FieldMetadata)) {
		e.Message(9, func(e *Encoder) {
			e.Int32(1, id)
			e.Message(2, o.FieldMetadata[id].Marshal)
		})
	}
	e.Unknown(o.Unknown)
}
