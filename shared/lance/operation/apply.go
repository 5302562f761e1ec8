// Package operation implements the operations of the format: the next version of a table that each
// of them makes ([Apply]), and the rules for two operations that were computed from the same
// version and are committed one after the other ([Ours.Check]). It does no I/O. Package dataset
// writes the files of an operation and commits it.
//
// An operation is computed from one version and applied to the newest, which may be a later one.
// For example, two writers start from version 7. One commits Append{fragment of 3 rows} as version
// 8. The other's Delete{fragment 0: rows 1, 2} touches no common fragment, so [Ours.Check] returns
// Compatible, and [Apply] makes version 9 from version 8: all fragments of version 8, with a new
// deletion file for fragment 0. The code therefore does not assume that the read version and the
// newest agree: everything that an operation names must still exist, and everything else keeps its
// newest state.
//
// Besides fragments and schema, an operation must keep two parts of a version true. An index entry
// lists the fragments that it covers (indices.go): rewritten fragments are removed from the list,
// because the index would otherwise return rows that no longer exist. In a table with stable row
// ids each fragment lists the ids of its rows, and the versions that created and last changed them
// (lineage.go).
package operation

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/process/release"
)

// ErrInvalid means that an operation does not fit the table. A retry cannot succeed.
var ErrInvalid = errors.New("operation does not fit the table")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// writerVersion is the writer that our manifests record: this release.
var writerVersion = writerOf(release.Version())

// writerOf parses a version such as v1.2.3-rc.1+dirty. A build without one is 0.0.0.
func writerOf(version string) pb.WriterVersion {
	w := pb.WriterVersion{Library: "tiltyard", Version: "0.0.0"}
	if number, ok := strings.CutPrefix(version, "v"); ok {
		number, w.BuildMetadata, _ = strings.Cut(number, "+")
		w.Version, w.Prerelease, _ = strings.Cut(number, "-")
	}
	return w
}

// Create returns version 1 of a new table, which op makes. format is the version of its
// data files. With stableRowIDs, rows keep their ids when they move.
func Create(op *pb.Overwrite, format lance.Version, stableRowIDs bool) (*manifest.Manifest, error) {
	none := &manifest.Manifest{Schema: &schema.Schema{}}
	none.SetFileVersion(format)
	none.BasePaths = op.InitialBases
	if stableRowIDs {
		none.ReaderFlags, none.WriterFlags = manifest.FlagStableRowIDs, manifest.FlagStableRowIDs
	}
	create := *op
	create.InitialBases = nil
	return Apply(none, &create)
}

// Apply returns the manifest that op makes from base. It does not change base. The caller sets the
// time of the commit and the transaction.
//
// A Restore also needs the version that it restores, and a Clone the cloned table: see [Restored]
// and [Cloned].
//
// The error is [ErrInvalid] if op does not fit the table, and [lance.ErrUnsupported] if this
// package cannot write the table.
func Apply(base *manifest.Manifest, op pb.Operation) (*manifest.Manifest, error) {
	if err := CheckWritable(base); err != nil {
		return nil, err
	}
	c := &change{base: base, next: base.Next()}
	c.next.WriterVersion = &writerVersion
	if c.next.DataFormat == nil {
		version, err := base.FileVersion()
		if err != nil {
			return nil, err
		}
		c.next.SetFileVersion(version)
	}
	c.next.Tag = ""
	if err := c.apply(op); err != nil {
		return nil, fmt.Errorf("apply %s to version %d: %w", op.OperationName(), base.Version, err)
	}
	if c.indices.changed {
		c.next.SetIndices(c.indices.list)
	}
	return c.next, finish(c.next)
}

// CheckWritable returns [lance.ErrUnsupported] if a version uses features that our writes
// would not maintain.
func CheckWritable(m *manifest.Manifest) error {
	if err := m.CheckWritable(); err != nil {
		return err
	}
	// The name is looked for in the encoded section, as nearly all commits get by
	// without decoding it.
	if bytes.Contains(m.IndexSection, []byte(memWALIndex)) {
		return fmt.Errorf("%w: to write the table needs the index %s", lance.ErrUnsupported, memWALIndex)
	}
	return nil
}

// A change is an operation being applied.
type change struct {
	base    *manifest.Manifest
	next    *manifest.Manifest // begins as a copy of base
	indices indexList
}

// apply dispatches on the operation.
func (c *change) apply(op pb.Operation) error {
	switch op := op.(type) {
	case *pb.Append:
		return c.add(op.Fragments)
	case *pb.Delete:
		return c.delete(op)
	case *pb.Update:
		return c.update(op)
	case *pb.Overwrite:
		return c.overwrite(op)
	case *pb.Rewrite:
		return c.rewrite(op)
	case *pb.CreateIndex:
		return c.createIndex(op)
	case *pb.ReserveFragments:
		return c.reserve(op)
	case *pb.Merge:
		return c.merge(op)
	case *pb.Project:
		return c.project(op)
	case *pb.DataReplacement:
		return c.replaceFiles(op)
	case *pb.UpdateConfig:
		return c.updateConfig(op)
	case *pb.UpdateBases:
		return c.addBases(op)
	}
	return fmt.Errorf("%w: commit a transaction %s", lance.ErrUnsupported, op.OperationName())
}

// finish sets the parts of a manifest that follow from the rest, and checks the whole.
func finish(m *manifest.Manifest) error {
	byID := func(a, b *pb.Fragment) int { return cmp.Compare(a.ID, b.ID) }
	if !slices.IsSortedFunc(m.Fragments, byID) {
		// Fragments with reserved ids come in between.
		m.Fragments = slices.SortedFunc(slices.Values(m.Fragments), byID)
	}
	if n := len(m.Fragments); n > 0 {
		raiseMaxFragmentID(m, uint32(m.Fragments[n-1].ID))
	}
	if err := m.SetFlags(); err != nil {
		return err
	}
	if err := checkComplete(m); err != nil {
		return err
	}
	return m.Validate()
}

// raiseMaxFragmentID records that ids up to id have been allocated. They are never used
// again, even when their fragments are gone, because caches and deletion files contain
// them.
func raiseMaxFragmentID(m *manifest.Manifest, id uint32) {
	if m.MaxFragmentID == nil || *m.MaxFragmentID < id {
		m.MaxFragmentID = &id
	}
}

// overwrite replaces rows, columns and indices; configuration and table metadata stay.
func (c *change) overwrite(op *pb.Overwrite) error {
	if len(op.InitialBases) > 0 {
		return invalid("base paths can only be given to a new table")
	}
	for _, f := range op.Fragments {
		if f.DeletionFile != nil {
			return invalid("a fragment to be added has deleted rows")
		}
	}
	s, err := schema.FromFields(op.Schema, op.SchemaMetadata)
	if err != nil {
		return err
	}
	if err := s.CheckNewNames(c.base.Schema); err != nil {
		return err
	}
	c.next.Dictionaries = nil // field ids are assigned anew
	c.next.SetSchema(s)
	c.next.IndexSection, c.next.Fragments = nil, nil
	if len(op.ConfigUpserts) > 0 {
		c.next.Config = maps.Clone(c.next.Config)
		if c.next.Config == nil {
			c.next.Config = map[string]string{}
		}
		maps.Copy(c.next.Config, op.ConfigUpserts)
	}
	fresh := make([]*pb.Fragment, len(op.Fragments))
	for i, f := range op.Fragments {
		again := *f
		again.ID = 0 // whatever it was
		fresh[i] = &again
	}
	return c.add(fresh)
}

// reserve allocates fragment ids for a later Rewrite.
func (c *change) reserve(op *pb.ReserveFragments) error {
	next, err := c.nextFragmentID(uint64(op.NumFragments))
	if err != nil {
		return err
	}
	if last := next + uint64(op.NumFragments); last > 0 {
		raiseMaxFragmentID(c.next, uint32(last-1))
	}
	return nil
}
