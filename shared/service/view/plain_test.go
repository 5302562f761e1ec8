package view_test

import (
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/service/query"
	"tiltyard/shared/service/servicetest"
	"tiltyard/shared/service/table"
	"tiltyard/shared/service/view"
)

func TestPlainViews(t *testing.T) {
	house := servicetest.Open(t)
	house.Create(t, "t", `[{"id":1,"name":"a"},{"id":2,"name":"b"}]`)
	service, queries := view.New(house.Tables), query.New(house.Tables)
	named := servicetest.Named("v")
	named.Database = "db"
	made, err := service.CreatePlain(t.Context(), &viewapi.CreateRequest{Common: named, Query: "select id as key, upper(name) as loud from t where id > 1"})
	if err != nil {
		t.Fatal(err)
	}
	if made.Name != "v" || made.Query != "SELECT id AS key, upper(name) AS loud FROM t WHERE id > 1" || made.DefaultDatabase != "db" || len(made.Schema.Fields) != 2 {
		t.Errorf("got %+v", made)
	}
	described, err := service.DescribePlain(t.Context(), &viewapi.Request{Common: named})
	if err != nil || described.Query != made.Query || described.Schema.Fields[1].Name != "loud" {
		t.Errorf("got %+v, %v", described, err)
	}

	house.Insert(t, "t", `[{"id":3,"name":"c"}]`)
	rows, err := queries.Query(t.Context(), &queryapi.Request{Common: named, Filter: "key > 2"})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(servicetest.Lines(t, rows)); got != `{"key":3,"loud":"C"}` {
		t.Errorf("got rows %s", got)
	}
	count, err := queries.Count(t.Context(), &queryapi.CountRowsRequest{Common: named})
	if err != nil || count.Count != 2 {
		t.Errorf("got count %v, %v", count, err)
	}
	_, err = queries.Query(t.Context(), &queryapi.Request{Common: named, Branch: "b"})
	servicetest.WantCode(t, "branch", err, protocol.InvalidInput)
	_, err = queries.Prewarm(t.Context(), &queryapi.PrewarmRequest{Common: named})
	servicetest.WantCode(t, "prewarm", err, protocol.InvalidInput)

	list := func() []string {
		found, err := service.ListPlain(t.Context(), &viewapi.ListRequest{Common: protocol.Common{ID: []string{}}})
		if err != nil {
			t.Fatal(err)
		}
		return found.Views
	}
	if got := list(); !slices.Equal(got, []string{"v"}) {
		t.Errorf("got views %q", got)
	}
	if _, err := service.DropPlain(t.Context(), &viewapi.Request{Common: named}); err != nil {
		t.Error(err)
	}
	if got := list(); len(got) > 0 {
		t.Errorf("got views %q after the drop", got)
	}
}

// A table that is described through a view has the columns of the view now.
func TestTablesAreDescribedThroughViews(t *testing.T) {
	house := servicetest.Open(t)
	house.Create(t, "t", `[{"id":1,"name":"a"}]`)
	named := servicetest.Named("v")
	if _, err := view.New(house.Tables).CreatePlain(t.Context(), &viewapi.CreateRequest{Common: named, Query: "SELECT id AS key FROM t"}); err != nil {
		t.Fatal(err)
	}
	tables := table.New(house.Tables)
	got, err := tables.Describe(t.Context(), &tableapi.DescribeRequest{Common: named})
	if err != nil || got.Location != "" || *got.Version != 1 || len(got.Schema.Fields) != 1 || got.Schema.Fields[0].Name != "key" {
		t.Errorf("got %+v, %v", got, err)
	}
	version := int64(1)
	_, err = tables.Describe(t.Context(), &tableapi.DescribeRequest{Common: named, Version: &version})
	servicetest.WantCode(t, "a version", err, protocol.InvalidInput)
}

func TestPlainViewsThatAreRefused(t *testing.T) {
	house := servicetest.Open(t)
	house.Create(t, "t", `[{"id":1,"name":"a"}]`)
	service := view.New(house.Tables)
	for query, code := range map[string]protocol.Code{
		"SELEC":                        protocol.InvalidInput,
		"SELECT id FROM t GROUP BY id": protocol.InvalidInput,
		"SELECT gone FROM t":           protocol.InvalidInput,
		"SELECT random() AS r FROM t":  protocol.InvalidInput,
		"SELECT id FROM t WHERE id":    protocol.InvalidInput,
		"SELECT id FROM gone":          protocol.TableNotFound,
		"SELECT id FROM a.t":           protocol.NamespaceNotFound,
	} {
		_, err := service.CreatePlain(t.Context(), &viewapi.CreateRequest{Common: servicetest.Named("v"), Query: query})
		servicetest.WantCode(t, query, err, code)
	}
}
