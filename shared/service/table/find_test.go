package table_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/catalog/namespaces"
	"tiltyard/shared/lance/dataset/tags"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/service/data"
	"tiltyard/shared/service/servicetest"
	"tiltyard/shared/service/table"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// library is a catalog of tables of several kinds.
func library(t *testing.T, objects objectstore.Store) (*servicetest.House, *table.Service) {
	house := servicetest.Over(t, objects)
	service := table.New(house.Tables)
	for _, id := range [][]string{{"sales"}, {"sales", "eu"}, {"films"}} {
		if _, err := house.Names.Namespaces.Create(t.Context(), id, nil, namespaces.FailIfExists); err != nil {
			t.Fatal(err)
		}
	}
	point := arrow.StructOf(arrow.Field{Name: "city", Type: arrow.BinaryTypes.String, Metadata: arrow.MetadataFrom(map[string]string{"comment": "Where the customer lives"})})
	tables := map[string]*arrow.Schema{
		"sales$orders":    arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "address", Type: point}}, nil),
		"sales$eu$orders": arrow.NewSchema([]arrow.Field{{Name: "uid", Type: arrow.PrimitiveTypes.Uint64}, {Name: "stops", Type: arrow.ListOf(point)}}, nil),
		"films$posters": arrow.NewSchema([]arrow.Field{{Name: "embedding", Type: arrow.FixedSizeListOf(8, arrow.PrimitiveTypes.Float32)}},
			new(arrow.MetadataFrom(map[string]string{"description": "What hangs in the foyer"}))),
	}
	for id, schema := range tables {
		var body bytes.Buffer
		if err := ipc.NewWriter(&body, ipc.WithSchema(schema)).Close(); err != nil {
			t.Fatal(err)
		}
		_, err := data.New(house.Tables, arrowipc.Limits{}).Create(t.Context(), &dataapi.CreateTableRequest{
			Common: protocol.Common{ID: strings.Split(id, "$"), Delimiter: "$"}, Upload: protocol.Upload{Body: &body},
			Properties: map[string]string{"owner": "Ada of " + strings.Split(id, "$")[0]},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	declare := &tableapi.DeclareRequest{Common: servicetest.Named("plan"), Properties: map[string]string{"comment": "Orders to come", "owner": "Bob"}}
	if _, err := service.Declare(t.Context(), declare); err != nil {
		t.Fatal(err)
	}
	found, err := house.Names.Table(t.Context(), []string{"films", "posters"})
	if err == nil {
		err = tags.Create(t.Context(), house.At(found).Data(), "premiere-2024", "", 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return house, service
}

// find returns what a search finds, one table in a line with its matches, from all pages.
func find(ctx context.Context, t testing.TB, service *table.Service, req tableapi.FindRequest) []string {
	t.Helper()
	lines := []string{}
	for pages := 0; ; pages++ {
		page, err := service.Find(ctx, &req)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range page.Tables {
			line := strings.Join(one.ID, "$")
			for _, m := range one.Matches {
				line += fmt.Sprintf(" %s:%s=%s", m.In, m.Name, m.Value)
			}
			lines = append(lines, line)
		}
		for _, one := range page.Unreadable {
			lines = append(lines, fmt.Sprintf("%s is unreadable: %s", strings.Join(one.ID, "$"), one.Reason))
		}
		if req.PageToken = page.PageToken; req.PageToken == "" {
			slices.Sort(lines)
			return lines
		}
	}
}

func TestTablesAreFoundByWhatTheyHave(t *testing.T) {
	_, service := library(t, memstore.New())
	all := []tableapi.FindPlace{tableapi.FindName, tableapi.FindColumn, tableapi.FindProperty, tableapi.FindTag, tableapi.FindComment}
	type request = tableapi.FindRequest
	for _, c := range []struct {
		what string
		req  request
		want []string
	}{
		{"all", request{}, []string{"films$posters", "plan", "sales$eu$orders", "sales$orders"}},
		{"all of a namespace", request{NamespaceID: []string{"sales"}}, []string{"sales$eu$orders", "sales$orders"}},
		{"part of a name", request{Name: "ORDER"}, []string{"sales$eu$orders name:orders=", "sales$orders name:orders="}},
		{"pattern of a name", request{Name: "p*n"}, []string{"plan name:plan="}},
		{"words in names", request{Text: "eu ord"}, []string{"sales$eu$orders name:eu= name:orders="}},
		{"a word that is not there", request{Text: "eu posters"}, []string{}},
		{"column", request{Columns: []tableapi.ColumnCondition{{Name: "id"}}}, []string{
			"sales$eu$orders column:uid=uint64", "sales$orders column:id=int64",
		}},
		{"column inside another", request{Columns: []tableapi.ColumnCondition{{Name: "*.city", Type: "utf8"}}}, []string{
			"sales$eu$orders column:stops.city=utf8", "sales$orders column:address.city=utf8",
		}},
		{"type of a column", request{Columns: []tableapi.ColumnCondition{{Type: "int64"}}}, []string{"sales$orders column:id=int64"}},
		{"pattern of a type", request{Columns: []tableapi.ColumnCondition{{Type: "Fixed_size_list< float32 >[*]"}}}, []string{
			"films$posters column:embedding=fixed_size_list<float32>[8]",
		}},
		{"two columns", request{Columns: []tableapi.ColumnCondition{{Name: "uid"}, {Name: "stops"}}}, []string{
			"sales$eu$orders column:uid=uint64 column:stops=list<struct> column:stops.city=utf8",
		}},
		{"property", request{Properties: []tableapi.PropertyCondition{{Key: "owner", Value: "ada"}}, Name: "post"}, []string{
			"films$posters name:posters= property:owner=Ada of films",
		}},
		{"key of a property is whole", request{Properties: []tableapi.PropertyCondition{{Key: "own"}}}, []string{}},
		{"value of any property", request{Properties: []tableapi.PropertyCondition{{Value: "bob"}}}, []string{"plan property:owner=Bob"}},
		{"tag", request{Tag: "premiere"}, []string{"films$posters tag:premiere-2024="}},
		{"tag and a column that is not there", request{Tag: "premiere", Columns: []tableapi.ColumnCondition{{Name: "id"}}}, []string{}},
		{"comment of a column", request{Comment: "customer", NamespaceID: []string{"sales", "eu"}}, []string{
			"sales$eu$orders comment:stops.city=Where the customer lives",
		}},
		{"comment of a schema", request{Comment: "foyer"}, []string{"films$posters comment:=What hangs in the foyer"}},
		{"comment of a declared table", request{Comment: "to come"}, []string{"plan comment:=Orders to come"}},
		{"words anywhere", request{Text: "orders", In: all}, []string{
			"plan property:comment=Orders to come comment:=Orders to come", "sales$eu$orders name:orders=", "sales$orders name:orders=",
		}},
		{"words in different places", request{Text: "premiere embed", In: all}, []string{
			"films$posters tag:premiere-2024= column:embedding=fixed_size_list<float32>[8]",
		}},
		{"words in columns only", request{Text: "orders", In: all[1:2]}, []string{}},
	} {
		if diff := cmp.Diff(c.want, find(t.Context(), t, service, c.req)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
	_, err := service.Find(t.Context(), &request{NamespaceID: []string{"none"}})
	servicetest.WantCode(t, "a namespace that does not exist", err, protocol.NamespaceNotFound)
	for _, token := range []string{"x", "p", "p!", "s", "sAAAA", "pX2JhdGNoZXMv"} {
		_, err := service.Find(t.Context(), &request{Page: protocol.Page{PageToken: token}})
		servicetest.WantCode(t, "token "+token, err, protocol.InvalidInput)
	}
}

func TestFindGoesOnPastADamagedTable(t *testing.T) {
	objects := memstore.New()
	house, service := library(t, objects)
	found, err := house.Names.Table(t.Context(), []string{"films", "posters"})
	if err != nil {
		t.Fatal(err)
	}
	for object, err := range objectstore.Objects(t.Context(), objects, objectstore.ListOptions{Prefix: found.Location.Prefix + "/_versions/"}) {
		if err == nil {
			_, err = objects.Put(t.Context(), object.Key, []byte("damaged"), objectstore.Condition{IfMatch: object.ETag})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cold := table.New(servicetest.Over(t, objects).Tables)
	got := find(t.Context(), t, cold, tableapi.FindRequest{Columns: []tableapi.ColumnCondition{{Name: "id"}}})
	want := []string{"films$posters is unreadable: table films$posters is damaged", "sales$eu$orders column:uid=uint64", "sales$orders column:id=int64"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := find(t.Context(), t, service, tableapi.FindRequest{Name: "posters"}); len(got) != 1 {
		t.Errorf("a search for names finds %v, want the damaged table", got)
	}
}

// Conditions about names need the lists of the catalog alone. Those about properties need each record, those
// about tags a list for each table, and those about columns its manifest.
func TestFindReadsNoMoreThanItsConditionsNeed(t *testing.T) {
	objects := memstore.New()
	library(t, objects)
	for _, c := range []struct {
		what       string
		req        tableapi.FindRequest
		cold, warm int
	}{
		{"names", tableapi.FindRequest{Text: "orders"}, 1, 1},
		{"properties", tableapi.FindRequest{Properties: []tableapi.PropertyCondition{{Key: "owner"}}}, 1 + 4, 1},
		{"properties of a name", tableapi.FindRequest{Name: "plan", Properties: []tableapi.PropertyCondition{{Key: "owner"}}}, 1 + 1, 1},
		{"tags", tableapi.FindRequest{Tag: "premiere"}, 1 + 4 + 4, 1 + 4},
		{"columns", tableapi.FindRequest{Name: "orders", Columns: []tableapi.ColumnCondition{{Name: "id"}}}, 1 + 2*(1+2), 1 + 2},
		{"columns of tables with a property", tableapi.FindRequest{
			Properties: []tableapi.PropertyCondition{{Value: "films"}}, Columns: []tableapi.ColumnCondition{{Name: "emb"}},
		}, 1 + 4 + 2, 1 + 1},
	} {
		counted := faultstore.New(objects, nil)
		service := table.New(servicetest.Over(t, counted).Tables)
		for i, want := range []int{c.cold, c.warm} {
			counted.Reset()
			find(t.Context(), t, service, c.req)
			if got := counted.Snapshot().Requests; got != want {
				t.Errorf("%s, warm %v: got %d requests, want %d", c.what, i == 1, got, want)
			}
		}
	}
}

// Whatever the limit, the pages have each match once, also of namespaces whose records lie in hashed folders.
func TestPagesOfFoundTablesHaveEachMatchOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		house := servicetest.Open(t)
		service := table.New(house.Tables)
		inside := [][]string{nil}
		for range rapid.IntRange(0, 6).Draw(r, "namespaces") {
			parent := rapid.SampledFrom(inside).Draw(r, "parent")
			name := rapid.SampledFrom([]string{"a", "b", "Ä", strings.Repeat("long", 30)}).Draw(r, "namespace")
			id := append(slices.Clone(parent), name)
			if _, err := house.Names.Namespaces.Create(t.Context(), id, nil, namespaces.KeepIfExists); err != nil {
				r.Fatal(err)
			}
			if !slices.ContainsFunc(inside, func(other []string) bool { return slices.Equal(other, id) }) {
				inside = append(inside, id)
			}
		}
		tables := map[string][]string{}
		for range rapid.IntRange(0, 20).Draw(r, "tables") {
			id := append(slices.Clone(rapid.SampledFrom(inside).Draw(r, "in")), rapid.SampledFrom([]string{"t1", "t2", "u1", "ü"}).Draw(r, "table"))
			if _, there := tables[strings.Join(id, "$")]; there {
				continue
			}
			if _, err := service.Declare(t.Context(), &tableapi.DeclareRequest{Common: protocol.Common{ID: id}, Properties: map[string]string{"k": "v"}}); err != nil {
				r.Fatal(err)
			}
			tables[strings.Join(id, "$")] = id
		}
		at := rapid.SampledFrom(inside).Draw(r, "begin")
		want := []string{}
		for joined, id := range tables {
			if len(id) > len(at) && slices.Equal(id[:len(at)], at) && strings.HasPrefix(id[len(id)-1], "t") {
				want = append(want, joined)
			}
		}
		slices.Sort(want)
		req := tableapi.FindRequest{NamespaceID: at, Name: "t*", Page: protocol.Page{Limit: number(rapid.Int64Range(1, 5).Draw(r, "limit"))}}
		if rapid.Bool().Draw(r, "reading") {
			req.Properties = []tableapi.PropertyCondition{{Key: "k"}}
		}
		got := find(t.Context(), t, service, req)
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], " ")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("in %v (-want +got):\n%s", at, diff)
		}
	})
}

// A page ends when it has done as much work as one may, and the next one goes on.
func TestFindBoundsTheWorkOfAPage(t *testing.T) {
	const records, reads = 21_000, 1_200
	house := servicetest.Open(t)
	service := table.New(house.Tables)
	if _, err := house.Names.Namespaces.Create(t.Context(), []string{"some"}, nil, namespaces.FailIfExists); err != nil {
		t.Fatal(err)
	}
	for i := range records {
		req := &tableapi.DeclareRequest{Common: protocol.Common{ID: []string{fmt.Sprintf("t%05d", i)}}}
		if i < reads {
			req.ID = []string{"some", fmt.Sprintf("t%05d", i)}
		}
		if i == reads-1 || i == records-1 {
			req.Properties = map[string]string{"last": "yes"}
		}
		if _, err := service.Declare(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		what  string
		req   tableapi.FindRequest
		pages []int // how many tables each has
	}{
		{"lists", tableapi.FindRequest{Name: "t01199"}, []int{0, 1}},
		{"reads", tableapi.FindRequest{NamespaceID: []string{"some"}, Properties: []tableapi.PropertyCondition{{Key: "last"}}}, []int{0, 0, 1}},
		{"no limit", tableapi.FindRequest{NamespaceID: []string{"some"}}, []int{1000, 200}},
	} {
		var got []int
		for more := true; more; more = c.req.PageToken != "" {
			page, err := service.Find(t.Context(), &c.req)
			if err != nil {
				t.Fatal(err)
			}
			got, c.req.PageToken = append(got, len(page.Tables)), page.PageToken
		}
		if !slices.Equal(got, c.pages) {
			t.Errorf("%s: got pages of %v tables, want %v", c.what, got, c.pages)
		}
	}
}
