package flightsql

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// lines returns the rows of a list, with the texts of a row joined by a slash.
func lines(t *testing.T, c *flightsql.Client, info *flight.FlightInfo, err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := c.DoGet(signedIn(t), info.Endpoint[0].Ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	schema, err := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator)
	if err != nil || !schema.Equal(rows.Schema()) {
		t.Errorf("announced %v, got %v", schema, rows.Schema())
	}
	var all []string
	for rows.Next() {
		for i := range int(rows.RecordBatch().NumRows()) {
			var parts []string
			for _, column := range rows.RecordBatch().Columns() {
				if binary, ok := column.(*array.Binary); ok {
					columns, err := flight.DeserializeSchema(binary.Value(i), memory.DefaultAllocator)
					if err != nil {
						t.Fatal(err)
					}
					parts = append(parts, fmt.Sprint(columns.NumFields(), " columns"))
					continue
				}
				parts = append(parts, column.ValueStr(i))
			}
			all = append(all, strings.Join(parts, "/"))
		}
	}
	if rows.Err() != nil {
		t.Fatal(rows.Err())
	}
	return all
}

func TestLists(t *testing.T) {
	c, ctx := open(t), signedIn(t)
	cases := map[string]struct {
		ask  func() (*flight.FlightInfo, error)
		want []string
	}{
		"catalogs": {func() (*flight.FlightInfo, error) { return c.GetCatalogs(ctx) }, []string{""}},
		"schemas": {func() (*flight.FlightInfo, error) { return c.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{}) },
			[]string{"/", "/shop", "/shop$old"}},
		"some schemas": {func() (*flight.FlightInfo, error) {
			return c.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{DbSchemaFilterPattern: proto.String("sh_p")})
		}, []string{"/shop"}},
		"other catalog": {func() (*flight.FlightInfo, error) {
			return c.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{Catalog: proto.String("x")})
		}, nil},
		"types": {func() (*flight.FlightInfo, error) { return c.GetTableTypes(ctx) }, []string{"TABLE", "VIEW"}},
		"tables": {func() (*flight.FlightInfo, error) { return c.GetTables(ctx, &flightsql.GetTablesOpts{}) },
			[]string{"//docs/TABLE", "/shop/docs/TABLE", "/shop$old/docs/TABLE"}},
		"some tables": {func() (*flight.FlightInfo, error) {
			return c.GetTables(ctx, &flightsql.GetTablesOpts{DbSchemaFilterPattern: proto.String("shop%"), TableNameFilterPattern: proto.String("d%"), TableTypes: []string{"TABLE"}, IncludeSchema: true})
		}, []string{"/shop/docs/TABLE/3 columns", "/shop$old/docs/TABLE/3 columns"}},
		"views": {func() (*flight.FlightInfo, error) {
			return c.GetTables(ctx, &flightsql.GetTablesOpts{TableTypes: []string{"VIEW"}})
		}, nil},
		"primary keys": {func() (*flight.FlightInfo, error) { return c.GetPrimaryKeys(ctx, flightsql.TableRef{Table: "docs"}) }, nil},
		"exported":     {func() (*flight.FlightInfo, error) { return c.GetExportedKeys(ctx, flightsql.TableRef{Table: "docs"}) }, nil},
		"imported":     {func() (*flight.FlightInfo, error) { return c.GetImportedKeys(ctx, flightsql.TableRef{Table: "docs"}) }, nil},
		"cross": {func() (*flight.FlightInfo, error) {
			return c.GetCrossReference(ctx, flightsql.TableRef{Table: "docs"}, flightsql.TableRef{Table: "docs"})
		}, nil},
	}
	for name, test := range cases {
		info, err := test.ask()
		if got := lines(t, c, info, err); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestFactsAboutTheServer(t *testing.T) {
	c, ctx := open(t), signedIn(t)
	info, err := c.GetSqlInfo(ctx, []flightsql.SqlInfo{flightsql.SqlInfoFlightSqlServerName, 999999})
	if got := lines(t, c, info, err); len(got) != 1 || !strings.Contains(got[0], "Tiltyard") {
		t.Errorf("got %q", got)
	}
	info, err = c.GetSqlInfo(ctx, nil)
	if got := lines(t, c, info, err); len(got) != len(infos()) {
		t.Errorf("got %d facts, want %d", len(got), len(infos()))
	}
	info, err = c.GetXdbcTypeInfo(ctx, nil)
	if got := lines(t, c, info, err); len(got) != len(typeInfos) {
		t.Errorf("got %q", got)
	}
	info, err = c.GetXdbcTypeInfo(ctx, proto.Int32(12))
	if got := lines(t, c, info, err); len(got) != 1 || !strings.HasPrefix(got[0], "VARCHAR/12/") {
		t.Errorf("got %q", got)
	}
}

func TestListsNeedCredentials(t *testing.T) {
	c := open(t)
	info, err := c.GetTableTypes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.DoGet(t.Context(), info.Endpoint[0].Ticket); status.Code(err) != codes.Unauthenticated {
		t.Errorf("got %v", err)
	}
}

func TestLike(t *testing.T) {
	cases := []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"%", "", true}, {"%", "any", true}, {"a%c", "abbc", true}, {"a%c", "abbd", false},
		{"_", "é", true}, {"__", "a", false}, {"a\\_b", "a_b", true}, {"a\\_b", "axb", false}, {"%a%a%", "xaxa", true}, {"\\", "\\", false},
	}
	for _, test := range cases {
		if got := like(test.pattern, test.name); got != test.want {
			t.Errorf("like(%q, %q) is %t", test.pattern, test.name, got)
		}
	}
}
