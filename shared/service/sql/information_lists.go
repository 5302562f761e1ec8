package sql

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/sql"
	"tiltyard/shared/tables"
)

// An object is a table or a view of the catalog.
type object struct {
	id   []string
	kind string
}

// The kinds, as in the standard of SQL.
const (
	baseTable = "BASE TABLE"
	plainView = "VIEW"
)

func (o object) name() string   { return o.id[len(o.id)-1] }
func (o object) schema() string { return schemaName(o.id[:len(o.id)-1]) }

// look performs an operation that only reads for a list. In contrast to do, it is not what the statement does.
func look[Req protocol.Request, Resp any](ctx context.Context, operation string, req Req, serve func(context.Context, Req) (Resp, error)) (Resp, error) {
	op, _ := operations.Lookup(operation)
	ctx, err := permit(ctx, op, req)
	if err != nil {
		var none Resp
		return none, err
	}
	return serve(ctx, req)
}

// hidden returns an error, unless it means that an object is not for this sender, has gone meanwhile, or cannot be read.
func hidden(err error) error {
	for _, code := range []protocol.Code{protocol.PermissionDenied, protocol.NamespaceNotFound, protocol.TableNotFound, protocol.Unsupported} {
		if protocol.HasCode(err, code) {
			return nil
		}
	}
	return err
}

// visit calls a function for each namespace whose rows may be asked for, from the root on.
func (r *reading) visit(ctx context.Context, each func(namespace []string) error) error {
	next := [][]string{{}}
	for len(next) > 0 {
		namespace := next[0]
		next = next[1:]
		itself, within := r.asks(namespace)
		if itself {
			if err := each(namespace); err != nil {
				return err
			}
		}
		if !within {
			continue
		}
		found, err := look(ctx, "ListNamespaces", &namespaceapi.ListRequest{Common: r.in.of(namespace)}, r.service.namespaces.List)
		if err != nil {
			if err = hidden(err); err != nil {
				return err
			}
			continue
		}
		for _, name := range found.Namespaces {
			next = append(next, append(slices.Clone(namespace), name))
		}
	}
	return nil
}

// objects calls a function for the tables and views of each namespace, as far as they meet the conditions over their names
// and kinds.
func (r *reading) objects(ctx context.Context, each func([]object) error, kinds ...string) error {
	return r.visit(ctx, func(namespace []string) error {
		columns := []column{{"table_catalog", []string{""}}, {"table_schema", []string{schemaName(namespace)}}}
		if rows, err := r.selected(ctx, batchOf(columns)); err != nil || len(rows) == 0 {
			return err
		}
		var all []object
		for _, kind := range kinds {
			names, err := r.names(ctx, namespace, kind)
			if err = hidden(err); err != nil {
				return err
			}
			for _, name := range names {
				all = append(all, object{append(slices.Clone(namespace), name), kind})
			}
		}
		if len(all) == 0 {
			return nil
		}
		rows, err := r.selected(ctx, batchOf(append(columnsOf(all), column{"table_type", kindsOf(all)})))
		if err != nil || len(rows) == 0 {
			return err
		}
		chosen := make([]object, len(rows))
		for i, row := range rows {
			chosen[i] = all[row]
		}
		return each(chosen)
	})
}

// names returns the names of the tables or views in a namespace.
func (r *reading) names(ctx context.Context, namespace []string, kind string) ([]string, error) {
	if kind == plainView {
		found, err := look(ctx, "ListViews", &viewapi.ListRequest{Common: r.in.of(namespace)}, r.service.views.ListPlain)
		if err != nil {
			return nil, err
		}
		return found.Views, nil
	}
	found, err := look(ctx, "ListTables", &tableapi.ListRequest{Common: r.in.of(namespace)}, r.service.names.List)
	if err != nil {
		return nil, err
	}
	return found.Tables, nil
}

// columnsOf returns the columns with the names of objects.
func columnsOf(all []object) []column {
	schemas, names := make([]string, len(all)), make([]string, len(all))
	for i, o := range all {
		schemas[i], names[i] = o.schema(), o.name()
	}
	return []column{{"table_catalog", make([]string, len(all))}, {"table_schema", schemas}, {"table_name", names}}
}

func kindsOf(all []object) []string {
	kinds := make([]string, len(all))
	for i, o := range all {
		kinds[i] = o.kind
	}
	return kinds
}

func listSchemata(ctx context.Context, r *reading) error {
	return r.visit(ctx, func(namespace []string) error {
		return r.add(ctx, column{values: []string{""}}, column{values: []string{schemaName(namespace)}})
	})
}

func listTables(ctx context.Context, r *reading) error {
	return r.objects(ctx, func(all []object) error {
		return r.add(ctx, append(columnsOf(all), column{values: kindsOf(all)})...)
	}, baseTable, plainView)
}

// listViews lists views with their queries, which are only read if they are asked for.
func listViews(ctx context.Context, r *reading) error {
	return r.described(ctx, func(all []object) error {
		queries := make([]string, len(all))
		if !r.needs("view_definition") {
			return r.add(ctx, append(columnsOf(all), column{values: queries})...)
		}
		reqs := make([]*viewapi.Request, len(all))
		for i, o := range all {
			reqs[i] = &viewapi.Request{Common: r.in.of(o.id)}
		}
		views, err := lookAtOnce(ctx, "DescribeView", reqs, r.service.views.DescribePlain)
		if err != nil {
			return err
		}
		for i, view := range views {
			if view != nil {
				queries[i] = view.Query
			}
		}
		return r.add(ctx, append(columnsOf(all), column{values: queries})...)
	}, plainView)
}

// listColumns lists the columns of tables and views that the sender may describe.
func listColumns(ctx context.Context, r *reading) error {
	return r.described(ctx, func(all []object) error {
		reqs := make([]*tableapi.DescribeRequest, len(all))
		for i, o := range all {
			reqs[i] = &tableapi.DescribeRequest{Common: r.in.of(o.id)}
		}
		schemas, err := lookAtOnce(ctx, "DescribeTable", reqs, r.service.columnsShown)
		if err != nil {
			return err
		}
		var of []object
		var names, types, nullable []string
		var positions []int64
		for i, s := range schemas {
			if s == nil {
				continue
			}
			for k, f := range s.Fields() {
				of, names, types = append(of, all[i]), append(names, f.Name), append(types, typeText(f.Type))
				positions, nullable = append(positions, int64(k+1)), append(nullable, yesNo(f.Nullable))
			}
		}
		if of == nil {
			return nil
		}
		return r.add(ctx, append(columnsOf(of), column{values: names}, column{values: positions}, column{values: nullable}, column{values: types})...)
	}, baseTable, plainView)
}

// columnsShown returns the columns of a table or view, or nil if it is only declared.
func (s *Service) columnsShown(ctx context.Context, req *tableapi.DescribeRequest) (*arrow.Schema, error) {
	return tables.Rows(ctx, s.tables.Open(req.ID, ""), func(ctx context.Context, t *engine.Table) (*arrow.Schema, error) {
		columns, _, err := t.Columns(ctx)
		if engine.IsDeclared(err) {
			return nil, nil
		}
		return columns, err
	})
}

// opens is the number of objects that are opened at the same time.
const opens = 16

// described passes the objects that a list must open to a function, in parts.
func (r *reading) described(ctx context.Context, each func([]object) error, kinds ...string) error {
	var all []object
	err := r.objects(ctx, func(more []object) error {
		if all = append(all, more...); len(all) > r.most {
			return sql.Errorf(sql.ErrTooLarge, sql.NoPos, "%s.%s would open more than %d tables: add a condition such as table_schema = 'name' or table_name = 'name'", informationSchema, r.name, r.most)
		}
		return nil
	}, kinds...)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(all, opens) {
		if err := each(part); err != nil {
			return err
		}
	}
	return nil
}

// lookAtOnce performs an operation several times at the same time. The answers about hidden objects are zero. The rights are
// checked one after the other, because the access of a sender is not safe for concurrent use while it admits objects.
func lookAtOnce[Req protocol.Request, Resp any](ctx context.Context, operation string, reqs []Req, serve func(context.Context, Req) (Resp, error)) ([]Resp, error) {
	op, _ := operations.Lookup(operation)
	allowed := make([]bool, len(reqs))
	for i, req := range reqs {
		_, err := permit(ctx, op, req)
		if allowed[i] = err == nil; hidden(err) != nil {
			return nil, err
		}
	}
	answers := make([]Resp, len(reqs))
	group, ctx := errgroup.WithContext(ctx)
	for i, req := range reqs {
		if allowed[i] {
			group.Go(func() (err error) {
				answers[i], err = serve(ctx, req)
				return hidden(err)
			})
		}
	}
	return answers, group.Wait()
}

// yesNo returns a truth value in the words of the standard of SQL.
func yesNo(yes bool) string {
	if yes {
		return "YES"
	}
	return "NO"
}
