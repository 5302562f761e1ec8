// Package operation says what the operations of the format mean: what each makes of a
// version of a table ([Apply]), and which can be committed after which others
// ([Ours.Check]). It reads and writes nothing. Package dataset makes the files that an
// operation speaks of, and commits it.
//
// An operation is worked out on one version and applied to the newest, which may be a
// later one. So nothing here trusts that the two agree: what an operation names must
// still be there, and whatever it does not name stays as it is now.
//
// Beside the fragments and the schema a version holds two things that an operation must
// keep true. An index entry claims to cover fragments (indices.go): what an operation
// rewrites is taken out of the claim, or the index would answer with rows that are no
// more. And in a table with stable row ids each fragment lists the ids of its rows, and
// the versions that made and last changed them (lineage.go).
package operation

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
)

// ErrInvalid says that an operation cannot be applied to a version, however often it is
// tried: it does not fit the table.
var ErrInvalid = errors.New("operation does not fit the table")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// writerVersion is what our manifests say of who wrote them.
var writerVersion = pb.WriterVersion{Library: "tiltyard", Version: "0.1.0"}

// Create returns version 1 of a new table: what op makes of nothing. format is that of
// its data files; with stable row ids rows keep their ids when they move.
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

// Apply returns the manifest of the version after base, which op makes of it; base is
// not changed. The time of the commit and the transaction are left to the caller.
//
// A Restore needs the version that it restores, and a Clone the table that it clones:
// see [Restored] and [Cloned].
//
// The error is [ErrInvalid] when op does not fit the table, and [lance.ErrUnsupported]
// when the table may not be written by us.
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

// CheckWritable returns [lance.ErrUnsupported] when a version uses what our writes would
// not keep true.
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

// finish computes what follows from the rest of a manifest, and checks it.
func finish(m *manifest.Manifest) error {
	byID := func(a, b *pb.Fragment) int { return cmp.Compare(a.ID, b.ID) }
	if !slices.IsSortedFunc(m.Fragments, byID) {
		// Those with ids that were reserved earlier come in between.
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

// raiseMaxFragmentID notes that ids up to id are taken. They are never given out again,
// not even when their fragments are gone: caches and deletion files are named by them.
func raiseMaxFragmentID(m *manifest.Manifest, id uint32) {
	if m.MaxFragmentID == nil || *m.MaxFragmentID < id {
		m.MaxFragmentID = &id
	}
}

// overwrite replaces rows, columns and indices; config and table metadata stay.
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
	c.next.Schema, c.next.IndexSection, c.next.Fragments = s, nil, nil
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

// reserve takes fragment ids out of use, for a Rewrite that is to follow.
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
