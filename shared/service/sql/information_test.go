package sql_test

import (
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
)

// openShop has tables, views and namespaces.
func openShop(t *testing.T) *desk {
	d := open(t)
	d.does("CREATE NAMESPACE shop", "CREATE NAMESPACE shop.old", "CREATE TABLE shop.orders (id bigint NOT NULL, v VECTOR(2), at timestamp)",
		"CREATE TABLE shop.old.orders (id int)", "CREATE TABLE top (name text)", "CREATE VIEW shop.ids AS SELECT id FROM orders")
	return d
}

func TestInformationSchemaListsTheCatalog(t *testing.T) {
	d := openShop(t)
	for text, want := range map[string]string{
		"SELECT schema_name FROM information_schema.schemata ORDER BY 1":                                                                                                `{"schema_name":""} {"schema_name":"shop"} {"schema_name":"shop$old"}`,
		"SELECT * FROM information_schema.schemata WHERE schema_name = 'shop$old'":                                                                                      `{"catalog_name":"","schema_name":"shop$old"}`,
		"SELECT * FROM information_schema.schemata WHERE schema_name = 'nope'":                                                                                          ``,
		"SELECT table_schema, table_name, table_type FROM information_schema.tables ORDER BY table_schema, table_name":                                                  `{"table_name":"top","table_schema":"","table_type":"BASE TABLE"} {"table_name":"ids","table_schema":"shop","table_type":"VIEW"} {"table_name":"orders","table_schema":"shop","table_type":"BASE TABLE"} {"table_name":"orders","table_schema":"shop$old","table_type":"BASE TABLE"}`,
		"SELECT table_name FROM information_schema.tables WHERE table_schema LIKE 'shop$%'":                                                                             `{"table_name":"orders"}`,
		"SELECT table_name AS n FROM information_schema.tables AS t WHERE t.table_type = 'VIEW' LIMIT 1":                                                                `{"n":"ids"}`,
		"SELECT count(*) AS n FROM information_schema.tables WHERE table_schema IN ('', 'shop')":                                                                        `{"n":3}`,
		"SELECT * FROM information_schema.views":                                                                                                                        `{"table_catalog":"","table_name":"ids","table_schema":"shop","view_definition":"SELECT id FROM orders"}`,
		"SELECT column_name, ordinal_position, is_nullable, data_type FROM information_schema.columns WHERE table_schema = 'shop' AND table_name = 'orders' ORDER BY 2": `{"column_name":"id","data_type":"Int64","is_nullable":"NO","ordinal_position":1} {"column_name":"v","data_type":"FixedSizeList(2 x Float32)","is_nullable":"YES","ordinal_position":2} {"column_name":"at","data_type":"Timestamp(µs)","is_nullable":"YES","ordinal_position":3}`,
		"SELECT information_schema.columns.table_name FROM information_schema.columns WHERE data_type = 'Int32'":                                                        `{"table_name":"orders"}`,
		"SELECT c.column_name FROM information_schema.tables t JOIN information_schema.columns c USING (table_schema, table_name) WHERE t.table_type = 'VIEW'":          `{"column_name":"id"}`,
		"SELECT o.n FROM (SELECT count(*) AS n FROM shop.orders) AS o WHERE EXISTS (SELECT 1 FROM information_schema.tables WHERE table_name = 'top')":                  `{"n":0}`,
	} {
		d.wants(text, want)
	}
	d.wants("CREATE TABLE list AS SELECT table_name FROM information_schema.tables WHERE table_schema = ''", `{"count":1}`)
	for text, want := range map[string]struct {
		code protocol.Code
		text string
	}{
		"SELECT * FROM information_schema.nope":                   {protocol.NamespaceNotFound, "information_schema"},
		"SELECT * FROM information_schema.tables VERSION AS OF 1": {protocol.Unsupported, "tables, which has none"},
		"SELECT nope FROM information_schema.tables":              {protocol.TableColumnNotFound, "nope"},
	} {
		d.refuses(text, want.code, want.text)
	}
	d.does("CREATE NAMESPACE information_schema", "CREATE TABLE information_schema.tables (id int)")
	d.wants("SELECT * FROM information_schema.tables", ``)
	d.refuses("SELECT * FROM information_schema.columns", protocol.TableNotFound, "columns")
}

// The lists have what their sender may list and describe.
func TestInformationSchemaNeedsTheRightsOfLists(t *testing.T) {
	d := openShop(t)
	ctx := d.ctx
	const tables, columns = "SELECT count(*) AS n FROM information_schema.tables", "SELECT count(*) AS n FROM information_schema.columns"
	for _, c := range []struct{ policy, tables, columns string }{
		{`permit (principal, action, resource);`, "4", "6"},
		{`permit (principal, action, resource) unless { action == Action::"ListTables" };`, "1", "1"},
		{`permit (principal, action, resource) unless { action == Action::"ListViews" };`, "3", "5"},
		{`permit (principal, action, resource) unless { action == Action::"ListNamespaces" };`, "1", "1"},
		{`permit (principal, action in [Action::"ListTables", Action::"ListNamespaces", Action::"DescribeTable"], resource in Namespace::"shop$old"); permit (principal, action in [Action::"ListNamespaces", Action::"DescribeNamespace"], resource);`, "1", "1"},
		{`permit (principal, action in [Action::"QueryTable"], resource == Table::"top");`, "0", "0"},
	} {
		d.ctx = under(ctx, t, c.policy)
		d.wants(tables, `{"n":`+c.tables+`}`)
		d.wants(columns, `{"n":`+c.columns+`}`)
	}
}

// A condition over names restricts the tables that are opened.
func TestInformationSchemaOpensFewTables(t *testing.T) {
	d := openShop(t)
	for text, want := range map[string]int{
		"SELECT * FROM information_schema.columns":                                                        4,
		"SELECT * FROM information_schema.columns WHERE table_name = 'orders' AND table_schema = 'shop'":  1,
		"SELECT * FROM information_schema.columns WHERE upper(table_name) = 'ORDERS'":                     2,
		"SELECT * FROM information_schema.columns WHERE 'shop' = table_schema":                            2,
		"SELECT * FROM information_schema.columns WHERE table_name = 'nope'":                              0,
		"SELECT * FROM information_schema.columns WHERE table_schema NOT IN ('') AND data_type = 'Int64'": 3,
	} {
		for most := range 5 {
			rows, err := d.service.ExecuteWithin(d.ctx, &queryapi.StatementRequest{Query: text}, most)
			for _, failed := range rowsOf(rows, err) {
				err = failed
			}
			if (err == nil) != (most >= want) {
				t.Errorf("%s: of at most %d tables it has %v, want an error below %d", text, most, err, want)
			}
		}
	}
}

// rowsOf reads an answer to its end, and returns the errors.
func rowsOf(rows *protocol.Rows, err error) (errs []error) {
	if err != nil {
		return []error{err}
	}
	for _, err := range rows.Batches {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}
