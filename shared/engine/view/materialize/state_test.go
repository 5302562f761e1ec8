package materialize

import (
	"testing"

	"tiltyard/shared/lance/pb"
)

// A refresh continues from the watermark only after operations that preserve every column of the query.
func TestOperationsThatKeepTheRowsOfAView(t *testing.T) {
	const computed, other = 7, 3
	replaced := func(ids ...int32) *pb.DataReplacement {
		return &pb.DataReplacement{Replacements: []pb.FileReplacement{{NewFile: pb.DataFile{Fields: ids}}}}
	}
	updated := func(u pb.Update) *pb.Update { return &u }
	for name, c := range map[string]struct {
		op   pb.Operation
		want bool
	}{
		"an index":                       {&pb.CreateIndex{}, true},
		"metadata":                       {&pb.UpdateConfig{}, true},
		"a compaction":                   {&pb.Rewrite{}, true},
		"ids of fragments":               {&pb.ReserveFragments{}, true},
		"values of a computed column":    {replaced(computed), true},
		"values of another column":       {replaced(other), false},
		"values of both":                 {replaced(computed, other), false},
		"a computed column, rewritten":   {updated(pb.Update{Mode: pb.RewriteColumns, FieldsModified: []uint32{computed}}), true},
		"another column, rewritten":      {updated(pb.Update{Mode: pb.RewriteColumns, FieldsModified: []uint32{other}}), false},
		"columns that are not named":     {updated(pb.Update{Mode: pb.RewriteColumns}), false},
		"columns, and fragments removed": {updated(pb.Update{Mode: pb.RewriteColumns, FieldsModified: []uint32{computed}, RemovedFragmentIDs: []uint64{1}}), false},
		"rows, rewritten":                {updated(pb.Update{FieldsModified: []uint32{computed}}), false},
		"rows appended":                  {&pb.Append{}, false},
		"rows deleted":                   {&pb.Delete{}, false},
		"an older version":               {&pb.Restore{}, false},
		"all rows":                       {&pb.Overwrite{}, false},
		"an operation that is not known": {nil, false},
	} {
		if got := keepsRows(c.op, map[int32]bool{computed: true}); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}
