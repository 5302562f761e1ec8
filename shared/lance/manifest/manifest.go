// Package manifest reads and writes the versions of a table: manifest files, their names, the
// transactions that made them, and the feature flags that restrict readers and writers.
//
// A commit of version N+1 creates its manifest on condition that the name does not exist. [Latest]
// and [Probe] find the newest version, [Read] reads one, [Manifest.Encode] makes the file of the
// next. For example, the directory of a table with three versions lists as
//
//	_versions/18446744073709551612.manifest    version 3: 2^64-1 minus 3
//	_versions/18446744073709551613.manifest    version 2
//	_versions/18446744073709551614.manifest    version 1
//
// so the first name of a listing is the newest version. file.go shows the layout of a manifest
// file, names.go its names. Package operation computes the next manifest, and package dataset
// commits it.
package manifest

import (
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// A Manifest is one version of a table. A manifest that Parse or Read returned is shared
// and cached, so it must not be changed: a commit copies the struct and replaces the parts
// that differ, including fragments.
type Manifest struct {
	// Manifest is the message. Its Fields and SchemaMetadata are nil, because Schema holds
	// them; Encode sets its positions of sections.
	pb.Manifest
	Schema *schema.Schema
	// IndexSection is the encoded pb.IndexSection, nil if the table has no indices. It
	// shadows the message's field of the same name, which is the section's position in the
	// file.
	IndexSection []byte
	// Dictionaries holds the dictionary values by field in tables of legacy data files, whose files
	// share them. Newer data files have a dictionary in each page.
	Dictionaries map[int32]arrow.Array
	// Location is where the manifest was read from; the zero value if it was not.
	Location Location

	transaction []byte // the inline transaction's message, when it was read along
	file        int64  // bytes of a file, with which parts of this manifest, or of one before it, share memory
}

// Next returns a copy of m for the next version. It shares the schema and the fragments
// with m, but not m's location and transaction.
func (m *Manifest) Next() *Manifest {
	next := *m
	next.Version++
	next.Location, next.transaction = Location{}, nil
	next.Manifest.IndexSection, next.TransactionSection, next.OldTransactionSection = nil, nil, nil
	return &next
}

// MetadataBytes returns the size of all keys and values that users can set: the
// configuration, and the metadata of the table, its schema and its fields.
func (m *Manifest) MetadataBytes() int {
	total := m.Schema.MetadataBytes()
	for _, entries := range []map[string]string{m.Config, m.TableMetadata} {
		for key, value := range entries {
			total += len(key) + len(value)
		}
	}
	return total
}

// MemBytes estimates the memory of a manifest's variable parts: keys and values set by users,
// sections, dictionaries, row ids, row versions, and the bytes of the file.
func (m *Manifest) MemBytes() int64 {
	total := m.file + int64(len(m.IndexSection)+m.MetadataBytes()) + m.DictionaryBytes()
	for _, f := range m.Fragments {
		total += int64(len(f.RowIDs) + len(f.CreatedAt) + len(f.UpdatedAt))
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

// MaxFieldID returns the highest field id in the schema or in a data file, or -1. New fields get
// higher ids.
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

// Indices decodes the index section at each call. [indexmeta.Infer] adds missing details.
func (m *Manifest) Indices() ([]*pb.IndexMetadata, error) {
	var section pb.IndexSection
	if err := section.Unmarshal(m.IndexSection); err != nil {
		return nil, fmt.Errorf("%w: index section of version %d: %w", lance.ErrCorrupt, m.Version, err)
	}
	for _, x := range section.Indices {
		indexmeta.Infer(x)
	}
	return section.Indices, nil
}

// SetIndices replaces the index section; without indices it is left out. Unknown fields of
// entries that Indices returned are preserved.
func (m *Manifest) SetIndices(indices []*pb.IndexMetadata) {
	m.IndexSection = nil
	if len(indices) > 0 {
		var e pb.Encoder
		(&pb.IndexSection{Indices: indices}).Marshal(&e)
		m.IndexSection = e.B
	}
}
