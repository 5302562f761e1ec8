package operation

import (
	"slices"

	"tiltyard/shared/lance/pb"
)

// A Verdict is the result of a conflict check between our operation and one committed after the
// version from which ours was computed.
type Verdict int

// Verdicts.
const (
	Compatible   Verdict = iota // ours can be applied after theirs
	Redo                        // ours must be worked out again on the newer version, where it may well succeed
	Incompatible                // ours fails
)

// String returns the verdict as a word.
func (v Verdict) String() string {
	return [...]string{"compatible", "redo", "incompatible"}[v]
}

// Ours is an operation to be committed, with the inputs of its conflict check.
type Ours struct {
	Operation pb.Operation
	// ReadFragment returns a fragment of the version from which a Delete or Update was computed, or
	// nil. It is set if the deleted rows are known. The operation can then be rebased over others
	// that delete rows of the same fragments; the rebase checks for common rows.
	ReadFragment func(id uint64) *pb.Fragment
}

// Check returns how our operation relates to theirs.
//
// In the table ok is compatible, R is redo, X is incompatible, and:
//
//	F  R if a fragment is touched by both, else ok
//	D  ok unless a fragment is touched by both; then R if either removed it, or theirs
//	   replaced its files, or our rows are not known; else ok
//	G  X if theirs removed the fragment, R if it moved rows of it or replaced the same
//	   field in it, else ok
//	V  R if either may forbid nulls and the other supplies values, else ok
//	S  R if it changes metadata of the schema or of fields, else ok
//	K  X if both set (or one sets and one deletes) the same key, else ok
//	M  R (a DataReplacement: X) if a field that ours rewrites is gone, else ok
//
//	ours \ theirs  App Del Upd Ovw Idx Rew Mrg Res Rsv Prj Cfg Rep Cln Bas
//	Append         ok  ok  ok  X   ok  ok  V   X   ok  V   ok  ok  ok  ok
//	Delete         ok  D   D   X   ok  F   R   X   ok  ok  ok  F   ok  ok
//	Update         ok¹ D   D¹  X   ok  F   R   X   ok  MV  ok  F   ok  ok
//	Overwrite      ok  ok  ok  R²  ok  ok  ok  ok  ok  ok  K   ok  ok  ok
//	CreateIndex    ok  ok  ok³ X   N   F⁴  ok  X   ok  ok  ok  I   ok  ok
//	Rewrite        ok  F   F   X   F⁴  F   R   X   ok  ok  ok  F   ok  ok
//	Merge          R   R   R   X   ok  R   R   X   ok  X   S   R   ok  ok
//	Restore        ok  ok  ok  ok  ok  ok  ok  ok  ok  ok  S⁵  ok  ok  ok
//	Reserve        ok  ok  ok  X   ok  ok  ok  X   ok  ok  ok  ok  ok  ok
//	Project        V   ok  V   X   ok  ok  R   X   ok  R   ok  V   ok  ok
//	UpdateConfig   ok  ok  ok  K⁶  ok  ok  S   S⁵  ok  ok  K⁶  ok  ok  ok
//	DataReplacem.  ok  G   G   X   I   F   R   X   ok  MV  ok  G   ok  ok
//	Clone          ok  ok  ok  ok  ok  ok  ok  ok  ok  ok  ok  ok  ok  ok
//	UpdateBases    ok  ok  ok  ok  ok  ok  ok  ok  ok  ok  ok  ok  ok  B
//
//	¹  with a filter of inserted keys: R after an Append, an Update without a filter,
//	   with one of other fields, or with one that has a key in common
//	²  X when both set the same key of the config
//	³  the new entries lose the fragments whose field was rewritten: see [Rebased]
//	⁴  R if a rewritten fragment is covered by a new entry, or one has no recorded coverage
//	⁵  X instead of R
//	⁶  X also when ours changes metadata of the schema or of fields (theirs an Overwrite),
//	   or when both change that of the schema or of the same field
//	N  R when both add to one name, one adds to a name and the other drops it, or both
//	   replace the same entry
//	I  R when a replaced field is one that a new index depends on
//	B  X when both add the same id, name or path
//
// Operations that this package does not interpret (of a write-ahead log, data overlays,
// those of later versions of the format) are incompatible with all of ours but Clone. We do
// not write tables with such features at all.
//
// Source: the checks of the native implementation, crate lance, src/io/commit/conflict_resolver.rs.
func (o Ours) Check(theirs pb.Operation) Verdict {
	if _, clone := o.Operation.(*pb.Clone); clone {
		return Compatible // of a version that no commit changes
	}
	if opaque(o.Operation) || opaque(theirs) {
		return Incompatible
	}
	if v := checkSchema(o.Operation, theirs); v != Compatible {
		return v
	}
	switch ours := o.Operation.(type) {
	case *pb.Append, *pb.ReserveFragments:
		return incompatibleIf(replacesTable(theirs))
	case *pb.Delete:
		return o.checkDelete(ours, theirs)
	case *pb.Update:
		return o.checkUpdate(ours, theirs)
	case *pb.Overwrite:
		return checkOverwrite(ours, theirs)
	case *pb.CreateIndex:
		return checkCreateIndex(ours, theirs)
	case *pb.Rewrite:
		return checkRewrite(ours, theirs)
	case *pb.Merge:
		return checkMerge(theirs)
	case *pb.Restore:
		return Compatible
	case *pb.Project:
		return checkProject(theirs)
	case *pb.UpdateConfig:
		return checkUpdateConfig(ours, theirs)
	case *pb.DataReplacement:
		return checkDataReplacement(ours, theirs)
	case *pb.UpdateBases:
		return checkUpdateBases(ours, theirs)
	}
	return Incompatible
}

// opaque reports whether this package does not interpret an operation.
func opaque(op pb.Operation) bool {
	_, uninterpreted := op.(*pb.OpaqueOperation)
	return op == nil || uninterpreted
}

func redoIf(condition bool) Verdict {
	if condition {
		return Redo
	}
	return Compatible
}

func incompatibleIf(condition bool) Verdict {
	if condition {
		return Incompatible
	}
	return Compatible
}

// replacesTable reports whether an operation discards all previous content.
func replacesTable(op pb.Operation) bool {
	switch op.(type) {
	case *pb.Overwrite, *pb.Restore:
		return true
	}
	return false
}

// checkSchema finds the conflicts that concern the schema, whichever of the two operations
// came first.
func checkSchema(ours, theirs pb.Operation) Verdict {
	if mayForbidNulls(ours) && suppliesValues(theirs) || suppliesValues(ours) && mayForbidNulls(theirs) {
		return Redo // one side lacks the values to compare
	}
	changes := changesMetadata(ours) || changesMetadata(theirs)
	if _, merge := either[*pb.Merge](ours, theirs); merge && changes {
		return Redo // a merge brings a whole schema, without the new metadata
	}
	if _, restore := either[*pb.Restore](ours, theirs); restore && changes {
		return Incompatible // the metadata were changed of a schema that is no more
	}
	return Compatible
}

// either returns the one of two operations that has the type T.
func either[T pb.Operation](a, b pb.Operation) (T, bool) {
	if t, ok := a.(T); ok {
		return t, true
	}
	t, ok := b.(T)
	return t, ok
}

// mayForbidNulls reports whether an operation may make a column not nullable although data
// written for the schema before may have nulls in it.
func mayForbidNulls(op pb.Operation) bool {
	switch op := op.(type) {
	case *pb.Project:
		return !op.PreservesNullability
	case *pb.Merge:
		return !op.PreservesNullability
	}
	return false
}

// suppliesValues reports whether an operation may add nulls to a column.
func suppliesValues(op pb.Operation) bool {
	switch op.(type) {
	case *pb.Append, *pb.Update, *pb.DataReplacement:
		return true
	}
	return false
}

// changesMetadata reports whether an operation changes the metadata of the schema or of
// fields.
func changesMetadata(op pb.Operation) bool {
	update, ok := op.(*pb.UpdateConfig)
	if !ok {
		return false
	}
	changes := func(m *pb.UpdateMap) bool { return m != nil && (m.Replace || len(m.Entries) > 0) }
	for _, m := range update.FieldMetadata {
		if changes(m) {
			return true
		}
	}
	return changes(update.SchemaMetadata)
}

func (o Ours) checkDelete(ours *pb.Delete, theirs pb.Operation) Verdict {
	return o.checkRows(theirs, ours.UpdatedFragments, ours.DeletedFragmentIDs)
}

// checkUpdate compares inserted keys with appends and updates, and modified fields with
// projections; then deleted rows.
func (o Ours) checkUpdate(ours *pb.Update, theirs pb.Operation) Verdict {
	switch theirs := theirs.(type) {
	case *pb.Append:
		return redoIf(ours.InsertedRows != nil) // which may have the same keys
	case *pb.Update:
		if ours.InsertedRows != nil && mayShareKeys(ours.InsertedRows, theirs.InsertedRows) {
			return Redo
		}
	case *pb.Project:
		return redoIf(slices.ContainsFunc(ours.FieldsModified, func(id uint32) bool { return !hasField(theirs.Schema, int32(id)) }))
	}
	return o.checkRows(theirs, ours.UpdatedFragments, ours.RemovedFragmentIDs)
}

// checkRows checks our operation if it deletes rows of fragments.
func (o Ours) checkRows(theirs pb.Operation, updated []*pb.Fragment, removed []uint64) Verdict {
	mine := idsOf(updated, removed)
	switch theirs := theirs.(type) {
	case *pb.Overwrite, *pb.Restore:
		return Incompatible
	case *pb.Merge:
		return Redo
	case *pb.Rewrite:
		return redoIf(rewrites(theirs, mine))
	case *pb.DataReplacement:
		return redoIf(slices.ContainsFunc(theirs.Replacements, func(r pb.FileReplacement) bool { return mine[r.FragmentID] }))
	case *pb.Update:
		return o.checkShared(mine, len(updated) > 0, theirs.UpdatedFragments, theirs.RemovedFragmentIDs)
	case *pb.Delete:
		return o.checkShared(mine, len(updated) > 0, theirs.UpdatedFragments, theirs.DeletedFragmentIDs)
	}
	return Compatible
}

// checkShared checks our operation against another that deletes rows. mine are the fragments that
// ours touches; leaves reports that ours leaves rows in some of them.
func (o Ours) checkShared(mine map[uint64]bool, leaves bool, updated []*pb.Fragment, removed []uint64) Verdict {
	if !overlap(mine, idsOf(updated, removed)) {
		return Compatible
	}
	if o.ReadFragment == nil || !leaves || slices.ContainsFunc(removed, func(id uint64) bool { return mine[id] }) {
		return Redo
	}
	return redoIf(slices.ContainsFunc(updated, func(f *pb.Fragment) bool {
		if !mine[f.ID] {
			return false
		}
		was := o.ReadFragment(f.ID)
		return was == nil || !sameFiles(was, f)
	}))
}

// idsOf returns the fragments that an operation touches.
func idsOf(updated []*pb.Fragment, removed []uint64) map[uint64]bool {
	ids := make(map[uint64]bool, len(updated)+len(removed))
	for _, f := range updated {
		ids[f.ID] = true
	}
	for _, id := range removed {
		ids[id] = true
	}
	return ids
}

func overlap(a, b map[uint64]bool) bool {
	for id := range b {
		if a[id] {
			return true
		}
	}
	return false
}

// rewrites reports whether a Rewrite replaced one of the fragments.
func rewrites(op *pb.Rewrite, fragments map[uint64]bool) bool {
	return overlap(fragments, rewritten(op))
}

// rewritten returns the ids of the fragments that a rewrite replaces.
func rewritten(op *pb.Rewrite) map[uint64]bool {
	ids := map[uint64]bool{}
	for _, g := range op.Groups {
		for _, f := range g.OldFragments {
			ids[f.ID] = true
		}
	}
	return ids
}

func hasField(fields []*pb.Field, id int32) bool {
	return slices.ContainsFunc(fields, func(f *pb.Field) bool { return f.ID == id })
}

// mayShareKeys reports whether rows inserted by two updates may have a key in common. A nil
// filter means that the keys are not known.
func mayShareKeys(a, b *pb.KeyExistenceFilter) bool {
	if b == nil || !slices.Equal(a.FieldIDs, b.FieldIDs) {
		return true
	}
	switch {
	case a.Exact != nil && b.Exact != nil:
		return slices.ContainsFunc(a.Exact.Hashes, func(h uint64) bool { return slices.Contains(b.Exact.Hashes, h) })
	case a.Bloom != nil && b.Bloom != nil:
		return bloomsIntersect(a.Bloom, b.Bloom)
	}
	return true // an exact set and a bloom filter hash differently
}

// bloomsIntersect reports whether two bloom filters may share a key: a shared key has set the same
// bits in both. Filters of different sizes count as intersecting.
func bloomsIntersect(a, b *pb.BloomFilter) bool {
	if a.NumberOfItems != b.NumberOfItems || a.Probability != b.Probability || len(a.Bitmap) != len(b.Bitmap) {
		return true
	}
	for i := range a.Bitmap {
		if a.Bitmap[i]&b.Bitmap[i] != 0 {
			return true
		}
	}
	return false
}

// checkOverwrite conflicts with other overwrites, and with changes of the config keys that it sets.
func checkOverwrite(ours *pb.Overwrite, theirs pb.Operation) Verdict {
	switch theirs := theirs.(type) {
	case *pb.Overwrite:
		if shareConfigKey(ours, theirs) {
			return Incompatible
		}
		return Redo // so that the caller may decide again
	case *pb.UpdateConfig:
		return incompatibleIf(shareConfigKey(ours, theirs))
	}
	return Compatible
}

// checkRewrite conflicts with changes of the rows and indices of its fragments.
func checkRewrite(ours *pb.Rewrite, theirs pb.Operation) Verdict {
	mine := rewritten(ours)
	switch theirs := theirs.(type) {
	case *pb.Overwrite, *pb.Restore:
		return Incompatible
	case *pb.Merge:
		return Redo
	case *pb.Delete:
		return redoIf(overlap(mine, idsOf(theirs.UpdatedFragments, theirs.DeletedFragmentIDs)))
	case *pb.Update:
		return redoIf(overlap(mine, idsOf(theirs.UpdatedFragments, theirs.RemovedFragmentIDs)))
	case *pb.Rewrite:
		return redoIf(rewrites(theirs, mine))
	case *pb.DataReplacement:
		return redoIf(slices.ContainsFunc(theirs.Replacements, func(r pb.FileReplacement) bool { return mine[r.FragmentID] }))
	case *pb.CreateIndex:
		if slices.ContainsFunc(theirs.NewIndices, func(x *pb.IndexMetadata) bool { return x.Name == fragmentReuseIndex }) {
			return incompatibleIf(len(theirs.NewIndices) != 1 || len(theirs.RemovedIndices) != 1)
		}
		return redoIf(coversAny(theirs.NewIndices, mine))
	}
	return Compatible
}

// checkMerge must be redone after any change of rows, because it lists all fragments.
func checkMerge(theirs pb.Operation) Verdict {
	switch theirs.(type) {
	case *pb.Append, *pb.Delete, *pb.Update, *pb.Rewrite, *pb.Merge, *pb.DataReplacement:
		return Redo // it lists all fragments
	case *pb.Overwrite, *pb.Restore, *pb.Project:
		return Incompatible
	}
	return Compatible
}

// checkProject must be redone after other changes of columns, because it lists all columns.
func checkProject(theirs pb.Operation) Verdict {
	switch theirs.(type) {
	case *pb.Merge, *pb.Project:
		return Redo // it lists all columns
	case *pb.Overwrite, *pb.Restore:
		return Incompatible
	}
	return Compatible
}

// checkDataReplacement conflicts if its fields or fragments are gone or were rewritten.
func checkDataReplacement(ours *pb.DataReplacement, theirs pb.Operation) Verdict {
	switch theirs := theirs.(type) {
	case *pb.Overwrite, *pb.Restore:
		return Incompatible
	case *pb.Merge:
		return Redo
	case *pb.Project:
		return incompatibleIf(anyReplacement(ours, func(_, field uint64) bool { return !hasField(theirs.Schema, int32(field)) }))
	case *pb.Delete:
		return incompatibleIf(anyReplacement(ours, func(fragment, _ uint64) bool { return slices.Contains(theirs.DeletedFragmentIDs, fragment) }))
	case *pb.Update:
		return checkReplacementAfterUpdate(ours, theirs)
	case *pb.CreateIndex:
		return redoIf(indexesReplaced(theirs.NewIndices, ours))
	case *pb.Rewrite:
		gone := rewritten(theirs)
		return redoIf(anyReplacement(ours, func(fragment, _ uint64) bool { return gone[fragment] }))
	case *pb.DataReplacement:
		return redoIf(anyReplacement(ours, func(fragment, field uint64) bool {
			return anyReplacement(theirs, func(f, id uint64) bool { return f == fragment && id == field })
		}))
	}
	return Compatible
}

// checkReplacementAfterUpdate checks a new file of a fragment against an Update. The file
// holds values for all rows at their old offsets, so it is stale if rows have moved or if
// the Update has rewritten the same column.
func checkReplacementAfterUpdate(ours *pb.DataReplacement, theirs *pb.Update) Verdict {
	moved := len(theirs.NewFragments) > 0 && theirs.Mode == pb.RewriteRows
	touched := idsOf(theirs.UpdatedFragments, nil)
	if anyReplacement(ours, func(fragment, _ uint64) bool { return slices.Contains(theirs.RemovedFragmentIDs, fragment) }) {
		return Incompatible
	}
	return redoIf(anyReplacement(ours, func(fragment, field uint64) bool {
		return touched[fragment] && (moved || slices.Contains(theirs.FieldsModified, uint32(field)))
	}))
}

// anyReplacement calls f for each field of each new file, and reports whether one call
// returned true.
func anyReplacement(op *pb.DataReplacement, f func(fragment, field uint64) bool) bool {
	for _, r := range op.Replacements {
		for _, id := range r.NewFile.Fields {
			if id >= 0 && f(r.FragmentID, uint64(id)) {
				return true
			}
		}
	}
	return false
}

// checkUpdateBases conflicts if both add a base path of the same id, name or path.
func checkUpdateBases(ours *pb.UpdateBases, theirs pb.Operation) Verdict {
	added, ok := theirs.(*pb.UpdateBases)
	if !ok {
		return Compatible
	}
	for _, a := range ours.NewBases {
		for _, b := range added.NewBases {
			sameName := a.Name != nil && b.Name != nil && *a.Name == *b.Name
			if a.ID != 0 && a.ID == b.ID || sameName || a.Path == b.Path {
				return Incompatible
			}
		}
	}
	return Compatible
}
