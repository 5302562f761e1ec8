package query_test

import (
	"strings"
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/service/query"
	"tiltyard/shared/service/servicetest"
)

// open returns the service over a table t of three rows in two versions.
func open(t *testing.T) *query.Service {
	house := servicetest.Open(t)
	house.Create(t, "t", `[{"id":1,"name":"a"},{"id":2,"name":"b"}]`)
	house.Insert(t, "t", `[{"id":3,"name":"c"}]`)
	return query.New(house.Tables)
}

func number(n int64) *int64 { return &n }

func TestQueriesSelectRowsColumnsAndVersions(t *testing.T) {
	service := open(t)
	cases := []struct {
		name    string
		request queryapi.Request
		rows    string
		version int64
	}{
		{"everything", queryapi.Request{}, `{"id":1,"name":"a"} {"id":2,"name":"b"} {"id":3,"name":"c"}`, 2},
		{"by a filter", queryapi.Request{Filter: "id >= 2"}, `{"id":2,"name":"b"} {"id":3,"name":"c"}`, 2},
		{"an expression", queryapi.Request{Columns: queryapi.Projection{{Name: "ten", Expression: "id * 10"}}}, `{"ten":10} {"ten":20} {"ten":30}`, 2},
		{"a part", queryapi.Request{K: number(1), Offset: 1}, `{"id":2,"name":"b"}`, 2},
		{"the first version", queryapi.Request{Version: number(1)}, `{"id":1,"name":"a"} {"id":2,"name":"b"}`, 1},
		{"in another order", queryapi.Request{OrderBy: []queryapi.OrderBy{{ColumnName: "id", Ascending: new(bool)}}, K: number(2)}, `{"id":3,"name":"c"} {"id":2,"name":"b"}`, 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.request.Common = servicetest.Named("t")
			rows, err := service.Query(t.Context(), &c.request)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(strings.Fields(servicetest.Lines(t, rows)), " "); got != c.rows {
				t.Errorf("got rows  %s\nwant rows %s", got, c.rows)
			}
			if rows.AtVersion() != c.version {
				t.Errorf("got version %d, want %d", rows.AtVersion(), c.version)
			}
		})
	}
}

func TestCountsAreThoseOfTheRowsFound(t *testing.T) {
	service := open(t)
	for _, c := range []struct {
		version   *int64
		predicate string
		count     int64
	}{{nil, "", 3}, {nil, "id > 1", 2}, {number(1), "", 2}, {number(1), "id > 1", 1}, {nil, "id IS NULL", 0}} {
		got, err := service.Count(t.Context(), &queryapi.CountRowsRequest{Common: servicetest.Named("t"), Version: c.version, Predicate: c.predicate})
		if err != nil {
			t.Fatal(err)
		}
		if got.Count != c.count {
			t.Errorf("rows with %q: got %d, want %d", c.predicate, got.Count, c.count)
		}
	}
}

func TestPlansNameTheFilterAndAnalyzedOnesTheRows(t *testing.T) {
	service := open(t)
	asked := queryapi.Request{Common: servicetest.Named("t"), Filter: "id = 2"}
	plan, err := service.Explain(t.Context(), &queryapi.ExplainPlanRequest{Common: servicetest.Named("t"), Query: &asked})
	if err != nil {
		t.Fatal(err)
	}
	analyzed, err := service.Analyze(t.Context(), &queryapi.AnalyzePlanRequest{Request: asked})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(*plan), "id = ") || strings.Contains(string(*plan), "elapsed") {
		t.Errorf("got plan\n%s\nwant one with the filter and without times", *plan)
	}
	if !strings.Contains(string(*analyzed), "[rows=1, batches=1") {
		t.Errorf("got analyzed plan\n%s\nwant one with the rows that were found", *analyzed)
	}
}

func TestQueriesThatCannotBeAnsweredNameTheMistake(t *testing.T) {
	service := open(t)
	for _, c := range []struct {
		name    string
		code    protocol.Code
		request queryapi.Request
	}{
		{"no table", protocol.TableNotFound, queryapi.Request{Common: servicetest.Named("no")}},
		{"no version", protocol.TableVersionNotFound, queryapi.Request{Common: servicetest.Named("t"), Version: number(9)}},
		{"no branch", protocol.TableBranchNotFound, queryapi.Request{Common: servicetest.Named("t"), Branch: "no"}},
		{"half a filter", protocol.InvalidInput, queryapi.Request{Common: servicetest.Named("t"), Filter: "id >"}},
		{"no column", protocol.TableColumnNotFound, queryapi.Request{Common: servicetest.Named("t"), Columns: queryapi.Projection{{Name: "nope"}}}},
	} {
		_, err := service.Query(t.Context(), &c.request)
		servicetest.WantCode(t, c.name, err, c.code)
	}
}

func TestPrewarmRefusesUnknownColumns(t *testing.T) {
	service := open(t)
	if _, err := service.Prewarm(t.Context(), &queryapi.PrewarmRequest{Common: servicetest.Named("t"), Columns: []string{"id"}}); err != nil {
		t.Error(err)
	}
	_, err := service.Prewarm(t.Context(), &queryapi.PrewarmRequest{Common: servicetest.Named("t"), Columns: []string{"nope"}})
	servicetest.WantCode(t, "prewarm", err, protocol.TableColumnNotFound)
}
