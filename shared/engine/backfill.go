package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/engine/condition"
	"tiltyard/shared/engine/failure"
	"tiltyard/shared/engine/freshness"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
	"tiltyard/shared/take"
)

// A Backfill is an order to compute values of a computed column.
type Backfill struct {
	Column string
	// Where chooses the rows whose values are computed, also those that have one. "" is the rows
	// without a value, and all rows of fragments whose inputs are others than those their values
	// were computed from.
	Where     string
	Version   *int64 // the fragments of this version are filled; nil is the newest
	Fragments int    // at most so many fragments are filled; 0 is all
	PerCommit int    // fragments that are committed together; 0 is a number of our own
	// Progress is called with how many fragments were looked at, and how many rows have got a value.
	Progress func(done, total, rows int64)
}

// perCommit is how many fragments are committed together unless the order says another number.
const perCommit = 64

// A Backfilled is the result of a backfill.
type Backfilled struct {
	Assigned  int64  `json:"rows_assigned"`  // rows that have got a value
	Failed    int64  `json:"rows_failed"`    // always 0: an expression that fails ends the backfill
	Remaining int64  `json:"rows_remaining"` // rows that the bound on fragments has left out
	Source    int64  `json:"source_version"` // the version whose fragments were filled
	Published *int64 `json:"published_version,omitempty"`
}

// CheckBackfill returns the error that a backfill would end with before it reads any row.
func (t *Table) CheckBackfill(ctx context.Context, b Backfill) error {
	return Do(ctx, t, b.Version, func(ctx context.Context, d *dataset.Dataset) error {
		_, err := newFiller(ctx, d, b)
		return err
	})
}

// Backfill computes values of a computed column and commits them, a number of fragments at a time. What is
// committed stays if a later step fails; to run the backfill again computes what is left.
func (t *Table) Backfill(ctx context.Context, b Backfill) (Backfilled, error) {
	r := filling{table: t, order: b, computed: freshness.Signatures{}}
	if err := Do(ctx, t, b.Version, r.begin); err != nil {
		return r.result, err
	}
	for passes := 0; passes < maxPlans; passes++ {
		if err := r.pass(ctx); err != nil || !r.lost {
			if err == nil {
				err = r.stamp(ctx)
			}
			return r.result, err
		}
		// Compaction has put rows into other fragments.
		if err := Do(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) error { r.rescope(d); return nil }); err != nil {
			return r.result, err
		}
	}
	return r.result, protocol.Errorf(protocol.ConcurrentModification, "table %s is compacted faster than column %q can be filled; retry", t.name, b.Column)
}

// A filling is a backfill at work.
type filling struct {
	table    *Table
	order    Backfill
	result   Backfilled
	scope    []uint64        // fragments to look at
	done     map[uint64]bool // those of them that need nothing more
	lost     bool            // a fragment of the scope is gone
	filled   int             // fragments
	computed freshness.Signatures
}

// begin checks the order and finds the fragments to fill.
func (r *filling) begin(ctx context.Context, d *dataset.Dataset) error {
	f, err := newFiller(ctx, d, r.order)
	if err != nil {
		return err
	}
	for _, input := range f.bound.Columns() {
		if err := checkFilled(ctx, d, r.order.Column, input); err != nil {
			return err
		}
	}
	if f.stamp.Absent { // the values so far count as fresh
		r.computed = freshness.Now(d, f.bound.Columns())
		if r.computed == nil {
			r.computed = freshness.Signatures{}
		}
	}
	r.result.Source = int64(d.Version())
	r.rescope(d)
	return nil
}

// rescope makes all fragments of a version those to look at.
func (r *filling) rescope(d *dataset.Dataset) {
	r.scope, r.lost, r.done = nil, false, map[uint64]bool{}
	for _, f := range d.Fragments() {
		r.scope = append(r.scope, f.Meta.ID)
	}
}

// pass fills the fragments of the scope.
func (r *filling) pass(ctx context.Context) error {
	for len(r.done) < len(r.scope) {
		before := len(r.done)
		done, err := r.table.alter(ctx, r.commit)
		if err != nil {
			return err
		}
		if done.Version > 0 {
			r.result.Published = &done.Version
		}
		if len(r.done) == before {
			return fmt.Errorf("backfill of column %s: no fragment was looked at", r.order.Column)
		}
	}
	return nil
}

// commit fills the next fragments of the scope in the newest version, and commits them. Without any it
// returns a nil dataset.
func (r *filling) commit(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
	f, err := newFiller(ctx, d, r.order)
	if err != nil {
		return nil, err
	}
	now := freshness.Now(d, f.bound.Columns())
	most := r.order.PerCommit
	if most == 0 {
		most = perCommit
	}
	var files []pb.FileReplacement
	var looked []uint64
	assigned, remaining, lost := int64(0), int64(0), false
	computed := freshness.Signatures{}
	for _, id := range r.scope {
		if r.done[id] {
			continue
		}
		if len(files) == most {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		looked = append(looked, id)
		at := d.Fragment(id)
		if at == nil {
			lost = true
			continue
		}
		if most := r.order.Fragments; most > 0 && r.filled+len(files) >= most {
			n, err := f.count(ctx, at, now)
			if err != nil {
				return nil, err
			}
			remaining += n
			continue
		}
		file, n, whole, err := f.fill(ctx, at, now)
		if err != nil {
			return nil, err
		}
		if file != nil {
			files = append(files, *file)
		}
		if signature, ok := now[uint32(id)]; ok && whole {
			computed[uint32(id)] = signature
		}
		assigned += n
		if r.order.Progress != nil {
			r.order.Progress(int64(len(r.done)+len(looked)), int64(len(r.scope)), r.result.Assigned+assigned)
		}
	}
	var made *dataset.Dataset
	if len(files) > 0 {
		if made, err = d.Commit(ctx, &pb.DataReplacement{Replacements: files}); err != nil {
			return nil, err
		}
	}
	for _, id := range looked {
		r.done[id] = true
	}
	for id, signature := range computed {
		r.computed[id] = signature
	}
	r.result.Assigned, r.result.Remaining, r.filled = r.result.Assigned+assigned, r.result.Remaining+remaining, r.filled+len(files)
	r.lost = r.lost || lost
	return made, nil
}

// stamp notes in the metadata of the column which files its values were computed from. The sidecars of
// branches lie with the table, so a branch has no stamps of its own: its fragments are computed again.
func (r *filling) stamp(ctx context.Context) error {
	if len(r.computed) == 0 || r.table.onBranch {
		return nil
	}
	done, err := r.table.alter(ctx, func(ctx context.Context, d *dataset.Dataset) (*dataset.Dataset, error) {
		f, err := newFiller(ctx, d, r.order)
		if err != nil {
			return nil, err
		}
		set, err := freshness.Write(ctx, d, r.order.Column, f.definition, f.bound.Columns(), r.computed)
		if err != nil {
			return nil, err
		}
		update := FieldMetadata{Path: schema.FormatPath(r.order.Column), Set: map[string]*string{}}
		for key, value := range set {
			update.Set[key] = &value
		}
		op, err := fieldMetadata(d, []FieldMetadata{update})
		if err != nil {
			return nil, err
		}
		return d.Commit(ctx, op)
	})
	if err == nil {
		r.result.Published = &done.Version
	}
	return err
}

// A filler computes values of a column in one version.
type filler struct {
	dataset    *dataset.Dataset
	column     string
	definition string
	bound      *plan.Bound // the expression, in the type of the column
	where      *plan.Bound // nil: see Backfill.Where
	stamp      freshness.Stamp
}

// newFiller checks that a column can be filled.
func newFiller(ctx context.Context, d *dataset.Dataset, b Backfill) (*filler, error) {
	f := &filler{dataset: d, column: b.Column}
	field := d.Schema().Field(b.Column)
	if field == nil {
		return nil, failure.NoColumn(d.NoColumn(b.Column))
	}
	expression, err := expressionOf(field)
	if err != nil {
		return nil, err
	}
	f.definition = freshness.Definition(expression)
	what := fmt.Sprintf("the expression of column %s", b.Column)
	typ := d.ArrowSchema().Field(d.ArrowSchema().FieldIndices(b.Column)[0]).Type
	f.bound, err = condition.Bind(ctx, what, expression, d, d.ArrowSchema(), func(ctx context.Context, e syntax.Expr, _ *arrow.Schema, now time.Time) (*plan.Bound, error) {
		return plan.BindAs(ctx, e, d.ArrowSchema(), now, typ)
	})
	if err != nil {
		return nil, err
	}
	if b.Where != "" {
		if f.where, err = condition.Bind(ctx, "where", b.Where, d, d.ArrowSchema(), plan.BindFilter); err != nil {
			return nil, failure.OfFilter(err)
		}
	}
	f.stamp, err = freshness.Read(ctx, d, b.Column, f.definition)
	return f, err
}

// expressionOf returns the SQL that computes a column.
func expressionOf(f *schema.Field) (string, error) {
	switch kind := f.Metadata["computed_column.kind"]; {
	case f.Metadata["virtual_column"] == "true":
		return "", protocol.Errorf(protocol.Unsupported, "column %q is computed by function %.80q of %.80q, which cannot be run here", f.Name, f.Metadata["virtual_column.udf_name"], f.Metadata["virtual_column.udf_backend"])
	case f.Metadata["computed_column"] != "true":
		return "", protocol.Errorf(protocol.InvalidInput, "column %q is not a computed column", f.Name)
	case kind != "sql":
		return "", protocol.Errorf(protocol.Unsupported, "column %q is computed by %.80q, which cannot be run here", f.Name, kind)
	case f.HoldsBlobsV2():
		return "", protocol.Errorf(protocol.Unsupported, "column %q holds blobs, which cannot be computed", f.Name)
	}
	return f.Metadata["computed_column.expression"], nil
}

// checkFilled returns an error if an input is a computed column with rows that a backfill would give a
// value: the expression would take their nulls for values.
func checkFilled(ctx context.Context, d *dataset.Dataset, column, input string) error {
	field := d.Schema().Field(input)
	if field == nil || field.Metadata["computed_column"] != "true" {
		return nil
	}
	f, err := newFiller(ctx, d, Backfill{Column: input})
	if err != nil {
		return err
	}
	f.stamp = freshness.Stamp{Absent: true}
	missing := int64(0)
	for _, at := range d.Fragments() {
		n, err := f.gains(ctx, at)
		if err != nil {
			return err
		}
		missing += n
	}
	if missing > 0 {
		return protocol.Errorf(protocol.InvalidInput, "column %q reads %q, which has %d rows without a value; backfill %q first", column, input, missing, input)
	}
	return nil
}

// isWhole reports whether all rows of a fragment are computed.
func (f *filler) isWhole(at *fragment.Fragment, now freshness.Signatures) bool {
	return f.where == nil && !f.stamp.IsFresh(at.Meta.ID, now)
}

// chosen returns the positions of the rows of a batch whose values are computed.
func (f *filler) chosen(ctx context.Context, batch arrow.RecordBatch, whole bool) ([]int32, error) {
	if f.where != nil {
		rows, err := f.where.Select(ctx, batch, nil)
		return rows, failure.OfExpression("where", err)
	}
	values := batch.Column(batch.Schema().FieldIndices(f.column)[0])
	var rows []int32
	for i := range values.Len() {
		if whole || values.IsNull(i) {
			rows = append(rows, int32(i))
		}
	}
	return rows, nil
}

// choosing are the columns that chosen looks at.
func (f *filler) choosing() []string {
	if f.where == nil {
		return []string{f.column}
	}
	return append([]string{f.column}, f.where.Columns()...)
}

// each calls work with the stretches of live rows of a fragment.
func (f *filler) each(ctx context.Context, at *fragment.Fragment, columns []string, work func(arrow.RecordBatch) error) error {
	p, err := f.dataset.Project(unique(columns))
	if err != nil {
		return err
	}
	for stretch, err := range f.dataset.Stretches(ctx, at, p) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && stretch.Batch != nil {
			err = work(stretch.Batch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// count returns how many rows of a fragment a backfill computes.
func (f *filler) count(ctx context.Context, at *fragment.Fragment, now freshness.Signatures) (n int64, err error) {
	if f.isWhole(at, now) {
		return fragment.LiveRows(at.Meta), nil
	}
	err = f.each(ctx, at, f.choosing(), func(batch arrow.RecordBatch) error {
		rows, err := f.chosen(ctx, batch, false)
		n += int64(len(rows))
		return err
	})
	return n, err
}

// gains returns how many rows of a fragment without a value would get one.
func (f *filler) gains(ctx context.Context, at *fragment.Fragment) (n int64, err error) {
	if missing, err := f.count(ctx, at, nil); err != nil || missing == 0 {
		return 0, err
	}
	err = f.each(ctx, at, append(f.bound.Columns(), f.column), func(batch arrow.RecordBatch) error {
		_, gained, err := f.values(ctx, batch, false)
		n += gained
		return err
	})
	return n, err
}

// fill writes the new values of a fragment, and returns how many rows have got one. whole means that all
// live rows were computed. The file is nil if nothing changes.
func (f *filler) fill(ctx context.Context, at *fragment.Fragment, now freshness.Signatures) (file *pb.FileReplacement, assigned int64, whole bool, err error) {
	ctx, room, err := memory.Within(ctx)
	if err != nil {
		return nil, 0, false, err
	}
	defer room.Close()
	live := fragment.LiveRows(at.Meta)
	all := f.isWhole(at, now)
	n, err := f.count(ctx, at, now)
	if err != nil || n == 0 {
		return nil, 0, live == 0, err
	}
	columns := append(f.choosing(), f.bound.Columns()...)
	file, _, err = f.dataset.StageColumn(ctx, at, dataset.ColumnValues{
		Column: f.column, Read: unique(columns),
		Values: func(ctx context.Context, batch arrow.RecordBatch) (arrow.Array, int64, error) {
			values, gained, err := f.values(ctx, batch, all)
			assigned += gained
			if all || f.where != nil { // a value may become null, too
				return values, batch.NumRows(), err
			}
			return values, gained, err
		},
	})
	return file, assigned, n == live, err
}

// values returns the column of a batch with the chosen rows computed, and how many of them have got a
// value. The expression sees no other row, so a row that is not computed cannot fail it.
func (f *filler) values(ctx context.Context, batch arrow.RecordBatch, whole bool) (arrow.Array, int64, error) {
	was := batch.Column(batch.Schema().FieldIndices(f.column)[0])
	rows, err := f.chosen(ctx, batch, whole)
	if err != nil || len(rows) == 0 {
		return was, 0, err
	}
	among, err := rowsOf(batch, rows)
	if err != nil {
		return nil, 0, err
	}
	computed, err := f.bound.Eval(ctx, among)
	if err != nil {
		return nil, 0, failure.OfExpression(fmt.Sprintf("the expression of column %s", f.column), err)
	}
	gained := int64(computed.Len() - computed.NullN())
	if len(rows) == was.Len() {
		return computed, gained, nil
	}
	one := arrow.NewSchema([]arrow.Field{{Name: f.column, Type: was.DataType(), Nullable: true}}, nil)
	both, err := take.Concat(one, []arrow.RecordBatch{
		array.NewRecordBatch(one, []arrow.Array{was}, int64(was.Len())),
		array.NewRecordBatch(one, []arrow.Array{computed}, int64(computed.Len())),
	})
	if err != nil {
		return nil, 0, err
	}
	from := make([]int32, was.Len())
	for i := range from {
		from[i] = int32(i)
	}
	for i, row := range rows {
		from[row] = int32(was.Len() + i)
	}
	merged, err := take.Array(both.Column(0), from)
	return merged, gained, err
}

// rowsOf returns some rows of a batch.
func rowsOf(batch arrow.RecordBatch, rows []int32) (arrow.RecordBatch, error) {
	if int64(len(rows)) == batch.NumRows() {
		return batch, nil
	}
	columns := make([]arrow.Array, batch.NumCols())
	for i := range columns {
		var err error
		if columns[i], err = take.Array(batch.Column(i), rows); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(batch.Schema(), columns, int64(len(rows))), nil
}

// unique returns the names without repetitions, in their order.
func unique(names []string) []string {
	var once []string
	seen := map[string]bool{}
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			once = append(once, name)
		}
	}
	return once
}
