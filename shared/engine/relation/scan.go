package relation

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// A scan reads the rows of a table, or of a simple query that the table answers with its own order and limit.
type scan struct {
	table  Table
	source *syntax.Table
	query  *syntax.Query // nil: all rows of the table
	count  int64
	where  []syntax.Expr // over the columns of the table

	stored  *arrow.Schema // by their own names
	columns []string      // their names in this plan
	plain   []*plan.Bound // decodes dictionaries, which may differ between batches; nil for other columns
	out     *arrow.Schema
}

// scan returns a scan of a table, or of a simple query on it, whose columns have the names that name returns.
func (p *planner) scan(t *syntax.Table, query *syntax.Query, name func(string) string) (*scan, error) {
	table, err := p.tables.Open(p.ctx, t)
	if err != nil {
		return nil, err
	}
	s := &scan{table: table, source: t, query: query}
	whole := query == nil
	if whole {
		query = &syntax.Query{Body: &syntax.Block{Outputs: []syntax.Output{{}}, From: t}}
	}
	if s.stored, err = table.Columns(p.ctx, query); err != nil {
		return nil, unseenIn(query, err)
	}
	switch {
	case whole:
		if s.count, err = table.Count(p.ctx); err != nil {
			return nil, err
		}
	case query.Limit != nil:
		s.count = *query.Limit
	}
	var fields []arrow.Field
	for _, f := range s.stored.Fields() {
		column := p.unique(name(f.Name))
		var decode *plan.Bound
		if f.Type.ID() == arrow.DICTIONARY {
			if decode, err = plan.Bind(p.ctx, columnOf(f.Name), s.stored, p.now); err != nil {
				return nil, err
			}
			f.Type = decode.Type()
		}
		s.columns, s.plain = append(s.columns, column), append(s.plain, decode)
		fields = append(fields, arrow.Field{Name: column, Type: f.Type, Nullable: f.Nullable, Metadata: f.Metadata})
	}
	s.out = arrow.NewSchema(fields, nil)
	return s, nil
}

func (s *scan) schema() *arrow.Schema { return s.out }

func (s *scan) size() int64 {
	size := s.count
	for range s.where {
		size = size/3 + 1
	}
	return size
}

// push lets the table select the rows, by its indices if there are any. A query with a limit has chosen its rows already.
func (s *scan) push(condition syntax.Expr) (bool, error) {
	if s.query != nil {
		return false, nil
	}
	s.where = append(s.where, s.ofTable(condition))
	return true, nil
}

// ofTable returns an expression over the columns of the scan with the names that the table has for them.
func (s *scan) ofTable(e syntax.Expr) syntax.Expr {
	return renamed(e, func(column string) string {
		for i, c := range s.columns {
			if c == column {
				return s.stored.Field(i).Name
			}
		}
		return column
	})
}

// prune leaves out columns. Rows without a column are counted by the smallest.
func (s *scan) prune(needed names) {
	if len(needed.of(s.out).Fields()) == 0 && s.out.NumFields() > 0 {
		needed = namesOf(s.columns[smallest(s.out)])
	}
	var fields, stored []arrow.Field
	var columns []string
	var decode []*plan.Bound
	for i, name := range s.columns {
		if needed[name] {
			fields, stored, columns = append(fields, s.out.Field(i)), append(stored, s.stored.Field(i)), append(columns, name)
			decode = append(decode, s.plain[i])
		}
	}
	s.out, s.stored, s.columns, s.plain = arrow.NewSchema(fields, nil), arrow.NewSchema(stored, nil), columns, decode
}

// smallest returns the index of the column whose values are the smallest.
func smallest(s *arrow.Schema) int {
	best, width := 0, 1<<30
	for i, f := range s.Fields() {
		fixed, ok := f.Type.(arrow.FixedWidthDataType)
		if ok && fixed.BitWidth() < width && f.Type.ID() != arrow.DICTIONARY {
			best, width = i, fixed.BitWidth()
		}
	}
	return best
}

// asked returns the query of the table.
func (s *scan) asked() *syntax.Query {
	if s.query != nil {
		return s.query
	}
	b := &syntax.Block{From: s.source, Where: syntax.Conjunction(s.where)}
	for _, f := range s.stored.Fields() {
		b.Outputs = append(b.Outputs, syntax.Output{Name: f.Name, Expr: columnOf(f.Name)})
	}
	return &syntax.Query{Body: b}
}

func (s *scan) rows(ctx context.Context) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		rows, err := s.table.Rows(ctx, s.asked())
		if err != nil {
			yield(nil, err)
			return
		}
		for batch, err := range each(rows.Batches, func(batch arrow.RecordBatch) (arrow.RecordBatch, func(), error) {
			columns := make([]arrow.Array, len(s.columns))
			for i, f := range s.stored.Fields() {
				columns[i] = batch.Column(batch.Schema().FieldIndices(f.Name)[0])
				if s.plain[i] == nil {
					continue
				}
				var err error
				if columns[i], err = s.plain[i].Eval(ctx, batch); err != nil {
					return nil, nil, err
				}
			}
			return array.NewRecordBatch(s.out, columns, batch.NumRows()), func() {}, nil
		}) {
			if !yield(batch, err) {
				return
			}
		}
	}
}

func (s *scan) explain(ctx context.Context, w *writer) error {
	text, err := s.table.Explain(ctx, s.asked())
	if err != nil {
		return err
	}
	name := make([]string, len(s.source.Name))
	for i, part := range s.source.Name {
		name[i] = part.Text
	}
	_ = w.step("Table: %s", syntax.TableName(name))(ctx)
	w.depth++
	w.lines(text)
	w.depth--
	return nil
}
