// Package manifest reads and writes the versions of a table: manifest files, their
// names, the transactions that made them, and the feature flags that say who may read
// and write.
//
// Creating the manifest of version N+1 under its name, if nobody has, is the commit of
// version N+1. [Latest] and [Probe] find the newest version, [Read] reads one,
// [Manifest.Encode] makes the file of the next. What a commit does to a manifest, and
// which commits are in each other's way, is told by package dataset.
package manifest

import (
	"fmt"
	"time"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// A Manifest is one version of a table. Those that come from Parse and Read are shared
// and cached, so they are not changed: a commit copies the struct and replaces what
// differs, fragments by copies of fragments too.
type Manifest struct {
	// Manifest is the message. Its Fields and SchemaMetadata are nil, as Schema holds
	// them; its positions of sections are set by Encode.
	pb.Manifest
	Schema *schema.Schema
	// IndexSection is the encoded pb.IndexSection, nil when the table has no indices.
	// It hides the message's field, which is its position in the file.
	IndexSection []byte
	// Location is where the manifest was read from; the zero value if it was not.
	Location Location

	transaction []byte // the inline transaction's message, when it was read along
}

// Next returns a copy to become the manifest of the next version. It shares schema and
// fragments with m, and knows nothing of where m was stored and what made it.
func (m *Manifest) Next() *Manifest {
	next := *m
	next.Version++
	next.Location, next.transaction = Location{}, nil
	next.Manifest.IndexSection, next.TransactionSection, next.OldTransactionSection = nil, nil, nil
	return &next
}

// MetadataBytes is the size of all keys and values that users can set: of the configuration and
// the metadata of the table, its schema and its fields.
func (m *Manifest) MetadataBytes() int {
	total := m.Schema.MetadataBytes()
	for _, entries := range []map[string]string{m.Config, m.TableMetadata} {
		for key, value := range entries {
			total += len(key) + len(value)
		}
	}
	return total
}

// Time returns when the version was committed, by the clock of its writer.
func (m *Manifest) Time() time.Time {
	if m.Timestamp == nil {
		return time.Time{}
	}
	return time.Unix(m.Timestamp.Seconds, int64(m.Timestamp.Nanos)).UTC()
}

// SetTime sets the time of the commit.
func (m *Manifest) SetTime(t time.Time) {
	m.Timestamp = &pb.Timestamp{Seconds: t.Unix(), Nanos: int32(t.Nanosecond())}
}

// MaxFieldID returns the highest field id that is in use or that a file of a fragment
// still mentions; new fields get higher ones. It is -1 when there is none.
func (m *Manifest) MaxFieldID() int32 {
	highest := m.Schema.MaxFieldID()
	if m.MaxAllocatedFieldID != nil {
		highest = max(highest, *m.MaxAllocatedFieldID)
	}
	var last []int32 // files mostly share one list
	for _, f := range m.Fragments {
		for i := range f.Files {
			ids := f.Files[i].Fields
			if len(ids) == 0 || len(last) > 0 && &ids[0] == &last[0] {
				continue
			}
			for _, id := range ids {
				highest = max(highest, id)
			}
			last = ids
		}
	}
	return highest
}

// StableRowIDs reports whether rows keep their ids when they move.
func (m *Manifest) StableRowIDs() bool { return m.ReaderFlags&FlagStableRowIDs != 0 }

// Indices decodes the index section, anew at each call.
func (m *Manifest) Indices() ([]*pb.IndexMetadata, error) {
	var section pb.IndexSection
	if err := section.Unmarshal(m.IndexSection); err != nil {
		return nil, fmt.Errorf("%w: index section of version %d: %w", lance.ErrCorrupt, m.Version, err)
	}
	return section.Indices, nil
}

// SetIndices replaces the index section; with no indices it is left out. Entries that
// came from Indices are written as they were read.
func (m *Manifest) SetIndices(indices []*pb.IndexMetadata) {
	m.IndexSection = nil
	if len(indices) > 0 {
		var e pb.Encoder
		(&pb.IndexSection{Indices: indices}).Marshal(&e)
		m.IndexSection = e.B
	}
}
