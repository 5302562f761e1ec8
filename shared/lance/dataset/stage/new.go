package stage

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// New holds the staged rows of a new table, or rows that replace all rows of a table.
type New struct {
	*Files
	Schema       *schema.Schema
	Dictionaries map[int32]arrow.Array // for the manifest of a legacy table, by field id
}

// Overwrite returns the operation that commits the rows.
func (n *New) Overwrite() *pb.Overwrite {
	return &pb.Overwrite{Fragments: n.Fragments, Schema: n.Schema.PB(), SchemaMetadata: n.Schema.Metadata}
}

// WriteNew writes rows as new files, like [Place.WriteRows], with a new schema.
func (p Place) WriteNew(ctx context.Context, columns *arrow.Schema, format Format, rows iter.Seq2[arrow.RecordBatch, error]) (*New, error) {
	s, err := NewSchema(columns, format.Version, -1)
	if err != nil {
		return nil, err
	}
	match, err := s.Match(columns)
	if err != nil {
		return nil, err
	}
	made := &New{Schema: s}
	if format.Version == lance.Legacy {
		var stop func()
		if format.Legacy, rows, stop, err = FirstDictionaries(match, rows); err != nil {
			return nil, err
		}
		defer stop()
		if made.Dictionaries, err = StoredDictionaries(format.Legacy.Dictionaries); err != nil {
			return nil, err
		}
	}
	made.Files, err = p.WriteRows(ctx, match, format, rows)
	return made, err
}

// NewSchema converts columns with [schema.FromArrowAbove]. For data files of version 2.2 all blob
// columns become blob v2.
func NewSchema(columns *arrow.Schema, version lance.Version, highest int32) (*schema.Schema, error) {
	if version == lance.V2_2 {
		columns = schema.WithBlobsV2(columns)
	}
	return schema.FromArrowAbove(columns, highest)
}
