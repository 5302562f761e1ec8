package flightsql

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/sql/syntax"
)

// Drivers know catalogs, schemas in them, and tables in these. Here is one catalog, without a name, because names in
// statements begin with a namespace. A schema is a namespace: its name, or the names of a namespace within others joined
// by $. The root is the schema with the empty name.
const catalog = ""

// The types of tables.
const (
	typeTable = "TABLE"
	typeView  = "VIEW"
)

func writeCatalogs(_ context.Context, _ *client.Client, rows *listWriter) error {
	return rows.add(catalog)
}

func writeTableTypes(_ context.Context, _ *client.Client, rows *listWriter) error {
	return errors.Join(rows.add(typeTable), rows.add(typeView))
}

// schemasOf lists the namespaces, also those without tables.
func schemasOf(c *pb.CommandGetDbSchemas) func(context.Context, *client.Client, *listWriter) error {
	return func(ctx context.Context, from *client.Client, rows *listWriter) error {
		if c.GetCatalog() != catalog {
			return nil
		}
		return visit(ctx, from, func(schema []string) error {
			name := schemaName(schema)
			if c.DbSchemaFilterPattern != nil && !like(c.GetDbSchemaFilterPattern(), name) {
				return nil
			}
			return rows.add(catalog, name)
		})
	}
}

// visit calls a function for each namespace, from the root on. It leaves out namespaces whose content the sender may not
// see.
func visit(ctx context.Context, c *client.Client, each func(namespace []string) error) error {
	next := [][]string{{}}
	for len(next) > 0 {
		namespace := next[0]
		next = next[1:]
		if err := each(namespace); err != nil {
			return err
		}
		for name, err := range c.Namespaces(ctx, &namespaceapi.ListRequest{Common: client.ID(namespace...)}) {
			if err := hidden(err); err != nil {
				return err
			}
			if err == nil {
				next = append(next, append(slices.Clone(namespace), name))
			}
		}
	}
	return nil
}

// hidden returns an error, unless it means that a part of the database is not for this sender, or has gone meanwhile.
func hidden(err error) error {
	if errors.Is(err, protocol.PermissionDenied) || errors.Is(err, protocol.NamespaceNotFound) || errors.Is(err, protocol.TableNotFound) {
		return nil
	}
	return err
}

// schemaName returns the name of the schema that a namespace is.
func schemaName(namespace []string) string {
	return strings.Join(namespace, protocol.DefaultDelimiter)
}

// tablesOf lists the tables and views.
func tablesOf(c *pb.CommandGetTables) func(context.Context, *client.Client, *listWriter) error {
	return func(ctx context.Context, from *client.Client, rows *listWriter) error {
		if c.GetCatalog() != catalog {
			return nil
		}
		l := tableList{command: c, from: from, rows: rows}
		return visit(ctx, from, func(namespace []string) error { return l.add(ctx, namespace) })
	}
}

// A tableList writes tables that a command asks for.
type tableList struct {
	command *pb.CommandGetTables
	from    *client.Client
	rows    *listWriter
}

// add writes the tables and views in one namespace.
func (l *tableList) add(ctx context.Context, namespace []string) error {
	if l.command.DbSchemaFilterPattern != nil && !like(l.command.GetDbSchemaFilterPattern(), schemaName(namespace)) {
		return nil
	}
	if l.wants(typeTable) {
		for name, err := range l.from.Tables(ctx, &tableapi.ListRequest{Common: client.ID(namespace...), IncludeDeclared: new(false)}) {
			if err == nil {
				err = l.addTable(ctx, namespace, name, typeTable)
			}
			if err := hidden(err); err != nil {
				return err
			}
		}
	}
	if l.wants(typeView) {
		for name, err := range l.from.Views(ctx, &viewapi.ListRequest{Common: client.ID(namespace...)}) {
			if err == nil {
				err = l.addTable(ctx, namespace, name, typeView)
			}
			if err := hidden(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// wants reports whether the command asks for a type of tables.
func (l *tableList) wants(kind string) bool {
	return len(l.command.GetTableTypes()) == 0 || slices.Contains(l.command.GetTableTypes(), kind)
}

// addTable writes one table, with its columns if the command asks for them.
func (l *tableList) addTable(ctx context.Context, namespace []string, name, kind string) error {
	switch {
	case l.command.TableNameFilterPattern != nil && !like(l.command.GetTableNameFilterPattern(), name):
		return nil
	case !l.command.GetIncludeSchema():
		return l.rows.add(catalog, schemaName(namespace), name, kind)
	}
	schema, err := columnsOf(ctx, l.from, append(slices.Clone(namespace), name))
	if err != nil {
		return err
	}
	return l.rows.add(catalog, schemaName(namespace), name, kind, flight.SerializeSchema(withTypes(schema), memory.DefaultAllocator))
}

// columnsOf returns the columns of a table or view. There are none if the sender may not read it, or it cannot be read.
func columnsOf(ctx context.Context, c *client.Client, id []string) (*arrow.Schema, error) {
	rows, err := c.ExecuteStatement(ctx, &queryapi.StatementRequest{Query: "SELECT * FROM " + syntax.TableName(id), Describe: queryapi.DescribeColumns})
	if refusal := (*client.Error)(nil); errors.As(err, &refusal) && refusal.Status < 500 && !errors.Is(err, protocol.TableNotFound) {
		return arrow.NewSchema(nil, nil), nil
	}
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return rows.Schema(), nil
}

// like reports whether a name fits a pattern, in which % stands for any text and _ for one letter. A backslash takes the
// meaning of the letter behind it.
func like(pattern, name string) bool {
	return likeRunes([]rune(pattern), []rune(name))
}

func likeRunes(pattern, name []rune) bool {
	var retry, from = -1, 0 // where to go on if the rest does not fit: behind the last %, one letter later than before
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '%':
			retry, from = p+1, n
			p++
			continue
		case p < len(pattern) && pattern[p] == '_':
			p, n = p+1, n+1
			continue
		case p+1 < len(pattern) && pattern[p] == '\\' && pattern[p+1] == name[n]:
			p, n = p+2, n+1
			continue
		case p < len(pattern) && pattern[p] != '\\' && pattern[p] == name[n]:
			p, n = p+1, n+1
			continue
		case retry < 0:
			return false
		}
		from++
		p, n = retry, from
	}
	for p < len(pattern) && pattern[p] == '%' {
		p++
	}
	return p == len(pattern)
}
