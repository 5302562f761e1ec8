package selection

import (
	"context"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql"
	"tiltyard/shared/sql/plan"
	"tiltyard/shared/sql/syntax"
)

// planGroups plans a query with GROUP BY. Its condition selects source rows and is planned by Lance's
// rules; keys and columns follow the rules of DataFusion, see [plan.BindGroups].
//
// Source: lancedb 0.40, materialized_view/grouped.rs, plan.
func (q *Query) planGroups(ctx context.Context, source *arrow.Schema) (*Plan, error) {
	switch {
	case q.Each != nil:
		return nil, refused("GROUP BY together with UNNEST or a function in FROM")
	case q.Columns == nil:
		return nil, refused("GROUP BY together with *")
	case q.Limit != nil:
		return nil, refused("GROUP BY together with LIMIT")
	}
	p := &Plan{Query: &Query{Source: q.Source}}
	items, err := p.groupItems(q.Columns)
	if err != nil {
		return nil, err
	}
	var keys []syntax.Expr
	for _, text := range q.GroupBy {
		spelled, key, err := grouped(text)
		if err != nil {
			return nil, err
		}
		p.Query.GroupBy = append(p.Query.GroupBy, spelled)
		// A key may be the number or the name of a result column.
		if key, err = chosen(key, q.Columns, items, source); err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if p.Groups, err = plan.BindGroups(ctx, keys, items, source); err != nil {
		return nil, err
	}
	if name := p.Groups.Volatile; name != "" {
		return nil, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "function %s in a view, where it has other values each time", name)
	}
	p.Columns = p.Groups.Items
	var fields []arrow.Field
	for i, c := range p.Query.Columns {
		fields = append(fields, p.groupField(i, c.Name, source))
	}
	p.Schema = arrow.NewSchema(fields, nil)
	read := map[string]bool{}
	for _, name := range p.Groups.Columns(source) {
		read[name] = true
	}
	if err := p.planFilter(ctx, q.Filter, source, read); err != nil {
		return nil, err
	}
	p.readOf(source, read)
	return p, nil
}

// groupItems parses the columns of the result and sets their spelling.
func (p *Plan) groupItems(columns []Column) ([]syntax.Expr, error) {
	var items []syntax.Expr
	seen := map[string]bool{}
	for _, c := range columns {
		if err := checkName(c.Name, seen); err != nil {
			return nil, err
		}
		text, item, err := grouped(c.Expr)
		if err != nil {
			return nil, err
		}
		p.Query.Columns = append(p.Query.Columns, Column{Name: c.Name, Expr: text})
		items = append(items, item)
	}
	return items, nil
}

// grouped spells an expression of a query with GROUP BY and reads the spelled text.
func grouped(text string) (string, syntax.Expr, error) {
	text, err := syntax.Spell(text)
	if err != nil {
		return "", nil, err
	}
	e, err := syntax.ParseGrouped(text)
	return text, e, err
}

// chosen returns the column of the answer that a key names, by its number or by a name that no column of
// the source has, and otherwise the key.
func chosen(key syntax.Expr, columns []Column, items []syntax.Expr, source *arrow.Schema) (syntax.Expr, error) {
	switch e := key.(type) {
	case *syntax.Number:
		n, err := strconv.Atoi(e.Text)
		if err != nil || n < 1 || n > len(items) {
			return nil, sql.Errorf(sql.ErrUnsupported, e.Pos(), "GROUP BY %s: there is no column with this number", e.Text)
		}
		return items[n-1], nil
	case *syntax.Column:
		if len(e.Path) > 1 || source.HasField(e.Path[0].Text) {
			return key, nil
		}
		for i, c := range columns {
			if c.Name == e.Path[0].Text {
				return items[i], nil
			}
		}
	}
	return key, nil
}

// groupField returns the field of a column of the answer. A key that is a column of the source has its
// metadata.
func (p *Plan) groupField(item int, name string, source *arrow.Schema) arrow.Field {
	field := arrow.Field{Name: name, Type: p.Groups.Items[item].Type(), Nullable: p.Groups.Declared[item]}
	key, ok := p.Groups.Key(item)
	if !ok {
		return field
	}
	if _, ok := p.Groups.Keys[key].Path(); ok {
		return outputField(name, p.Groups.Keys[key], source)
	}
	return field
}
