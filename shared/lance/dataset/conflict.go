package dataset

import (
	"errors"
	"fmt"

	"tiltyard/shared/lance/pb"
)

// ErrConflict says that a change cannot be made because of one that was committed since
// the version it was made for. Its text names both.
var ErrConflict = errors.New("conflicting change")

// errRedo says that a change must be worked out again on the newer version, where it may
// well succeed: it depends on rows that have changed.
var errRedo = errors.New("the rows have changed meanwhile")

// outcome is how a change of ours goes with one that was committed before it.
type outcome int

const (
	compatible   outcome = iota
	redo                 // work it out again on the newer version
	incompatible         // fail
)

// checkConflict says how our operation goes with theirs, by the kinds of the two alone.
// What depends on the rows they touch is decided when ours is applied to the newest
// version (see rowChange.onto): a fragment that is gone or whose files have changed, or a row
// that both delete.
//
//	ours \ theirs   Append Delete Update Overwrite Index Rewrite Merge Restore Reserve Project Config DataRepl Bases
//	Append          ok     ok     ok     fail      ok    ok      ok¹   fail    ok      ok¹     ok     ok       ok
//	Update          ok     rows   rows   fail      ok    rows    redo  fail    ok      ok¹     ok     rows     ok
//	Overwrite       ok     ok     ok     ok        ok    ok      ok    ok      ok      ok      ok     ok       ok
//
// ¹ redo unless the other keeps every field's nullability. Operations that we do not
// interpret fail with all of ours.
//
// Source: the conflict checks of the native implementation (its io/commit module).
func checkConflict(ours, theirs pb.Operation) outcome {
	switch ours.(type) {
	case *pb.Append:
		return checkAppend(theirs)
	case *pb.Update:
		return checkUpdate(theirs)
	case *pb.Overwrite:
		return checkOverwrite(theirs)
	}
	return incompatible
}

func checkAppend(theirs pb.Operation) outcome {
	switch theirs := theirs.(type) {
	case *pb.Append, *pb.Delete, *pb.Update, *pb.CreateIndex, *pb.Rewrite, *pb.ReserveFragments,
		*pb.UpdateConfig, *pb.DataReplacement, *pb.UpdateBases:
		return compatible
	case *pb.Merge:
		return unlessPreserved(theirs.PreservesNullability)
	case *pb.Project:
		return unlessPreserved(theirs.PreservesNullability)
	}
	return incompatible
}

func checkUpdate(theirs pb.Operation) outcome {
	switch theirs := theirs.(type) {
	case *pb.Append, *pb.Delete, *pb.Update, *pb.CreateIndex, *pb.Rewrite, *pb.ReserveFragments,
		*pb.UpdateConfig, *pb.DataReplacement, *pb.UpdateBases:
		return compatible // as far as the kinds tell
	case *pb.Merge:
		return redo
	case *pb.Project:
		return unlessPreserved(theirs.PreservesNullability)
	}
	return incompatible
}

func checkOverwrite(theirs pb.Operation) outcome {
	if _, opaque := theirs.(*pb.OpaqueOperation); opaque || theirs == nil {
		return incompatible
	}
	return compatible
}

func unlessPreserved(preserved bool) outcome {
	if preserved {
		return compatible
	}
	return redo
}

// conflictWith checks ours against a committed transaction.
func conflictWith(ours pb.Operation, theirs *pb.Transaction, version uint64) error {
	switch checkConflict(ours, theirs.Operation) {
	case redo:
		return errRedo
	case incompatible:
		return fmt.Errorf("%w: %s cannot be committed after the %s of version %d", ErrConflict,
			ours.OperationName(), theirs.OperationName(), version)
	}
	return nil
}
