package rowset

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/RoaringBitmap/roaring/v2"
)

// MarshalJSON returns an object with a roaring bitmap of offsets, in base64, for each fragment.
func (s *Set) MarshalJSON() ([]byte, error) {
	bitmaps := make(map[uint64][]byte, len(s.fragments))
	for id, rows := range s.fragments {
		rows = rows.Clone()
		rows.RunOptimize()
		var err error
		if bitmaps[id], err = rows.ToBytes(); err != nil {
			return nil, fmt.Errorf("encode rows of fragment %d: %w", id, err)
		}
	}
	return json.Marshal(bitmaps)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (s *Set) UnmarshalJSON(text []byte) error {
	var bitmaps map[uint64][]byte
	if err := json.Unmarshal(text, &bitmaps); err != nil {
		return err
	}
	*s = Set{}
	for id, data := range bitmaps {
		rows := roaring.New()
		n, err := rows.ReadFrom(bytes.NewReader(data))
		if err == nil && n != int64(len(data)) {
			err = fmt.Errorf("%d bytes are left over", int64(len(data))-n)
		}
		if err == nil && !rows.IsEmpty() {
			err = rows.Validate()
		}
		if err != nil {
			return fmt.Errorf("rows of fragment %d: %w", id, err)
		}
		s.AddBitmap(id, rows)
	}
	return nil
}
