package mcp_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"tiltyard/local/mcp"
	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/service/all/alltest"
)

// An agent is a client of the tools.
type agent struct {
	t       *testing.T
	session *sdk.ClientSession
	tables  *client.Client // to prepare what no tool can
}

// connect starts a server of tables in memory, and connects an agent that may write if write is true.
func connect(t *testing.T, write bool) *agent {
	t.Helper()
	server, err := alltest.Serve(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	tables, err := client.New(server.URL, client.Options{Token: alltest.Token})
	if err != nil {
		t.Fatal(err)
	}
	tools := mcp.New(mcp.Options{Open: mcp.Always(tables), Release: "test", Delimiter: "/", Write: write})
	here, there := sdk.NewInMemoryTransports()
	if _, err := tools.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &agent{t, session, tables}
}

// call calls a tool, and returns its text and whether that is an error.
func (a *agent) call(tool, arguments string) (text string, failed bool) {
	a.t.Helper()
	result, err := a.session.CallTool(a.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	text = result.Content[0].(*sdk.TextContent).Text
	if !result.IsError {
		var fromText any
		if err := json.Unmarshal([]byte(text), &fromText); err != nil {
			a.t.Fatal(err)
		}
		if diff := cmp.Diff(fromText, result.StructuredContent); diff != "" {
			a.t.Errorf("%s: the structured content differs from the text:\n%s", tool, diff)
		}
	}
	return text, result.IsError
}

// ask calls a tool that must succeed, and returns its answer.
func (a *agent) ask(tool, arguments string) string {
	a.t.Helper()
	text, failed := a.call(tool, arguments)
	if failed {
		a.t.Fatalf("%s %s: %s", tool, arguments, text)
	}
	return text
}

// withNotes makes the table sales/notes of three rows, with an index of texts.
func (a *agent) withNotes() *agent {
	a.t.Helper()
	if _, err := a.tables.CreateNamespace(a.t.Context(), &namespaceapi.CreateRequest{Common: client.ID("sales")}); err != nil {
		a.t.Fatal(err)
	}
	a.ask("create_table", `{"table":"sales/notes",
		"columns":[{"name":"id","type":"int64"},{"name":"Unit Price","type":"float64"},{"name":"body","type":"utf8"},{"name":"embedding","type":"vector[2]"},{"name":"raw","type":"binary"}],
		"rows":[{"id":1,"Unit Price":2.5,"body":"a quick fox","embedding":[1,0],"raw":"AAE="},{"id":9007199254740993,"body":"a lazy dog","embedding":[0,1]}]}`)
	a.ask("insert_rows", `{"table":"sales/notes","rows":[{"id":3,"body":"quick & <quick>"}]}`)
	made, err := a.tables.CreateTableIndex(a.t.Context(), &indexapi.CreateRequest{Common: client.ID("sales", "notes"), Column: "body", Type: "FTS"})
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.tables.Wait(a.t.Context(), made.JobID, nil); err != nil {
		a.t.Fatal(err)
	}
	return a
}

func TestToolsAnswer(t *testing.T) {
	a := connect(t, true).withNotes()
	for _, c := range []struct{ tool, arguments, want string }{
		{"list_namespaces", `{}`, `{"namespaces":["sales"]}`},
		{"list_tables", `{}`, `{"tables":["sales/notes"]}`},
		{"list_tables", `{"namespace":""}`, `{"tables":[]}`},
		{"list_tables", `{"namespace":"sales","limit":1}`, `{"tables":["sales/notes"]}`},
		{"count_rows", `{"table":"sales/notes","filter":"embedding IS NULL"}`, `{"table":"sales/notes","rows":1}`},
		{"query_rows", `{"table":"sales/notes","filter":"id > 1","order_by":["-id"]}`,
			`{"table":"sales/notes","version":3,"rows":[{"Unit Price":null,"body":"a lazy dog","id":9007199254740993},{"Unit Price":null,"body":"quick & <quick>","id":3}],"omitted_columns":["embedding: fixed_size_list<float32>[2]","raw: binary"]}`},
		{"query_rows", `{"table":"sales/notes","columns":["raw","embedding","up=upper(body)"],"filter":"` + "`Unit Price`" + ` < 3"}`,
			`{"table":"sales/notes","version":3,"rows":[{"embedding":[1,0],"raw":"AAE=","up":"A QUICK FOX"}]}`},
		{"query_rows", `{"table":"sales/notes","columns":["body","` + "`Unit Price`" + `"],"order_by":["id"],"limit":1,"offset":1,"version":1}`,
			`{"table":"sales/notes","version":1,"rows":[{"Unit Price":null,"body":"a lazy dog"}]}`},
		{"query_rows", `{"table":"sales/notes","columns":["id"],"order_by":["id"],"limit":1}`,
			`{"table":"sales/notes","version":3,"rows":[{"id":1}],"next_offset":1,"note":"there are more rows: repeat the call with offset 1 and version 3"}`},
		{"search_vector", `{"table":"sales/notes","like":"id = 1","columns":["id"],"limit":1}`,
			`{"table":"sales/notes","version":3,"rows":[{"_distance":0,"id":1}],"next_offset":1,"note":"there are more rows: repeat the call with offset 1 and version 3"}`},
		{"search_vector", `{"table":"sales/notes","vector":[0,3],"columns":["id"],"metric":"cosine","filter":"id > 1"}`,
			`{"table":"sales/notes","version":3,"rows":[{"_distance":0,"id":9007199254740993}]}`},
		{"search_vector", `{"table":"sales/notes","vector":[1,0],"words":"quick","columns":["id"]}`,
			`{"table":"sales/notes","version":3,"rows":[{"_distance":0,"_relevance_score":0.032522473,"_score":0.47000363,"id":1},{"_distance":null,"_relevance_score":0.016393442,"_score":0.646255,"id":3},{"_distance":2,"_relevance_score":0.016129032,"_score":null,"id":9007199254740993}]}`},
		{"tag_version", `{"table":"sales/notes","tag":"first","version":1}`, `{"table":"sales/notes","version":1}`},
		{"delete_rows", `{"table":"sales/notes","filter":"id = 3"}`, `{"table":"sales/notes","version":4,"rows":1}`},
		{"restore_version", `{"table":"sales/notes","version":3}`, `{"table":"sales/notes","version":5}`},
		{"count_rows", `{"table":"sales/notes","version":4}`, `{"table":"sales/notes","rows":2}`},
	} {
		if got := a.ask(c.tool, c.arguments); got != c.want {
			t.Errorf("%s %s\n  = %s\nwant %s", c.tool, c.arguments, got, c.want)
		}
	}
	for _, c := range []struct {
		tool, arguments string
		want            []string // parts of the answer
	}{
		{"search_text", `{"table":"sales/notes","words":"quick","columns":["id"]}`, []string{`"id":3},{"_score":`, `"id":1}]`}},
		{"describe_table", `{"table":"sales/notes"}`, []string{
			`"rows":3`, `{"name":"embedding","type":"fixed_size_list<float32>[2]","nullable":true}`,
			`"vector_columns":[{"name":"embedding","length":2,"element":"float32","indexed":false}]`, `"text_columns":["body"]`,
			`{"name":"body_idx","type":"FTS","columns":["body"],"status":"SUCCEEDED","indexed_rows":3,"unindexed_rows":0}`,
		}},
		{"table_stats", `{"table":"sales/notes"}`, []string{`"num_rows":3`, `"num_indices":1`}},
		{"list_versions", `{"table":"sales/notes","limit":1}`, []string{`"version":5`, `"operation":"Restore"`, `"rows":3`, `"tags":{"first":1}`, `"next_page_token":"5"`}},
		{"explain_query", `{"table":"sales/notes","words":"quick"}`, []string{"body_idx"}},
		{"explain_query", `{"table":"sales/notes","like":"id = 1","analyze":true}`, []string{"embedding"}},
	} {
		got := a.ask(c.tool, c.arguments)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s %s\n  = %s\nwithout %s", c.tool, c.arguments, got, want)
			}
		}
	}
}

func TestDescriptionOfIndexedVectorsHasTheirMetric(t *testing.T) {
	a := connect(t, true)
	rows := make([]string, 300)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"v":[%d,1],"w":[1,%d]}`, i, i)
	}
	a.ask("create_table", `{"table":"t","columns":[{"name":"v","type":"vector[2]"},{"name":"w","type":"vector[2]"}],"rows":[`+strings.Join(rows, ",")+`]}`)
	made, err := a.tables.CreateTableIndex(t.Context(), &indexapi.CreateRequest{
		Common: client.ID("t"), Column: "v", Type: "IVF_FLAT", VectorParameters: indexapi.VectorParameters{DistanceType: protocol.DistanceCosine, NumPartitions: new(int64(1))},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.tables.Wait(t.Context(), made.JobID, nil); err != nil {
		t.Fatal(err)
	}
	want := `"vector_columns":[{"name":"v","length":2,"element":"float32","indexed":true,"metric":"cosine"},{"name":"w","length":2,"element":"float32","indexed":false}]`
	if got := a.ask("describe_table", `{"table":"t"}`); !strings.Contains(got, want) {
		t.Errorf("the description is\n%s\nwithout %s", got, want)
	}
	if got := a.ask("describe_table", `{"table":"t","limit":1,"offset":1}`); !strings.Contains(got, `"columns":[{"name":"w",`) || !strings.Contains(got, `"columns_left_out":1`) {
		t.Errorf("one column is described by %s", got)
	}
	// All columns are vectors, and two may be meant.
	for arguments, want := range map[string]string{
		`{"table":"t","vector":[1,1],"vector_column":"v"}`:                 "all columns hold vectors or bytes; name those to return in columns: v: fixed_size_list<float32>[2], w:",
		`{"table":"t","like":"v IS NOT NULL AND false","columns":["v"]}`:   "several columns hold vectors; name one of them in vector_column: v, w",
		`{"table":"t","like":"false","vector_column":"x","columns":["v"]}`: "x",
	} {
		if text, failed := a.call("search_vector", arguments); !failed || !strings.Contains(text, want) {
			t.Errorf("search_vector %s\n  = %s\nwithout %s", arguments, text, want)
		}
	}
	if got := a.ask("search_vector", `{"table":"t","vector":[0,1],"vector_column":"v","columns":["v"],"limit":1}`); !strings.Contains(got, `"rows":[{"_distance":0,"v":[0,1]}]`) {
		t.Errorf("the search finds %s", got)
	}
}

func TestLongAnswersAreRefused(t *testing.T) {
	a := connect(t, true)
	columns := make([]string, 900)
	for i := range columns {
		columns[i] = fmt.Sprintf(`{"name":"%s%d","type":"bool"}`, strings.Repeat("n", 300), i)
	}
	a.ask("create_table", `{"table":"wide","columns":[`+strings.Join(columns, ",")+`]}`)
	if text, failed := a.call("describe_table", `{"table":"wide","limit":900}`); !failed || !strings.Contains(text, "at most 262144 are possible") {
		t.Errorf("900 columns answer %.200s", text)
	}
	if got := a.ask("describe_table", `{"table":"wide"}`); !strings.Contains(got, `"columns_left_out":700`) {
		t.Errorf("without a limit the answer is %.200s", got)
	}
}

// A mistake is an answer that says what is wrong, and not a fault of the protocol.
func TestMistakesAreAnswers(t *testing.T) {
	a := connect(t, true).withNotes()
	for _, c := range []struct{ tool, arguments, want string }{
		{"describe_table", `{"table":"sales/none"}`, `table sales$none does not exist`},
		{"describe_table", `{"table":"/"}`, `table is "/", the root namespace`},
		{"describe_table", `{}`, `missing properties: ["table"]`},
		{"query_rows", `{"table":"sales/notes","where":"id = 1"}`, `unexpected additional properties ["where"]`},
		{"query_rows", `{"table":"sales/notes","filter":"idd = 1"}`, `idd`},
		{"query_rows", `{"table":"sales/notes","limit":501}`, `limit is 501; it must be from 1 to 500`},
		{"query_rows", `{"table":"sales/notes","version":99}`, `no such version`},
		{"search_vector", `{"table":"sales/notes"}`, `give either vector or like`},
		{"search_vector", `{"table":"sales/notes","vector":[1,2,3]}`, `3`},
		{"search_vector", `{"table":"sales/notes","vector":[1,2],"metric":"l3"}`, `metric: `},
		{"search_vector", `{"table":"sales/notes","like":"id = 0"}`, `"id = 0" selects no row; it must select one`},
		{"search_vector", `{"table":"sales/notes","like":"true"}`, `"true" selects several rows; it must select one`},
		{"search_vector", `{"table":"sales/notes","like":"id = 3"}`, `the row has no vector in embedding`},
		{"create_table", `{"table":"sales/new","columns":[{"name":"a","type":"text"}]}`, `column "a": "text" is no type; the types are bool,`},
		{"create_table", `{"table":"sales/new","columns":[]}`, `columns is empty`},
		{"create_table", `{"table":"sales/notes","columns":[{"name":"a","type":"bool"}]}`, `already exists`},
		{"insert_rows", `{"table":"sales/notes","rows":[{"id":4},{"idd":4}]}`, `row 2: the table has no column "idd"`},
		{"insert_rows", `{"table":"sales/notes","rows":[{"id":"four"}]}`, `row 1: `},
		{"insert_rows", `{"table":"sales/notes","rows":[{"id":4,"embedding":[1,2,3]},{"id":5,"embedding":[1]}]}`, `row 1: column embedding: [1,2,3] is not vector[2]`},
		{"insert_rows", `{"table":"sales/notes","rows":[]}`, `rows is empty`},
		{"delete_rows", `{"table":"sales/notes","filter":" "}`, `filter is empty`},
	} {
		if text, failed := a.call(c.tool, c.arguments); !failed || !strings.Contains(text, c.want) {
			t.Errorf("%s %s\n  = %s (error %v)\nwithout %s", c.tool, c.arguments, text, failed, c.want)
		}
	}
	if got := a.ask("count_rows", `{"table":"sales/notes"}`); !strings.Contains(got, `"rows":3`) {
		t.Errorf("after the mistakes the table has %s", got)
	}
}

func TestAnswersAreBounded(t *testing.T) {
	a := connect(t, true)
	var rows []string
	for i := range 30 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"body":%q}`, i, strings.Repeat("x", 4000)))
	}
	rows = append(rows, fmt.Sprintf(`{"id":30,"body":%q}`, strings.Repeat("x", 100_000)))
	a.ask("create_table", `{"table":"long","columns":[{"name":"id","type":"int64"},{"name":"body","type":"utf8"}],"rows":[`+strings.Join(rows, ",")+`]}`)
	type page struct {
		Rows []struct {
			ID int64 `json:"id"`
		} `json:"rows"`
		RowsLeftOut int64  `json:"rows_left_out"`
		NextOffset  *int64 `json:"next_offset"`
		Note        string `json:"note"`
	}
	var seen []int64
	for offset := int64(0); ; {
		text := a.ask("query_rows", fmt.Sprintf(`{"table":"long","filter":"id < 30","order_by":["id"],"limit":25,"offset":%d,"version":1}`, offset))
		var got page
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if len(text) > 52_000 {
			t.Errorf("an answer has %d bytes", len(text))
		}
		if offset == 0 && (got.RowsLeftOut != 13 || !strings.Contains(got.Note, "13 of 25 rows are left out")) {
			t.Errorf("%d rows are left out: %s", got.RowsLeftOut, got.Note)
		}
		for _, row := range got.Rows {
			seen = append(seen, row.ID)
		}
		if got.NextOffset == nil {
			break
		}
		offset = *got.NextOffset
	}
	if len(seen) != 30 || !slices.IsSorted(seen) {
		t.Errorf("the pages hold the rows %v", seen)
	}
	if text, failed := a.call("query_rows", `{"table":"long","filter":"id = 30"}`); !failed || !strings.Contains(text, "row 0 alone has 100") {
		t.Errorf("a long row answers %.200s", text)
	}
	if got := a.ask("query_rows", `{"table":"long","filter":"id = 30","columns":["short=left(body, 3)"]}`); !strings.Contains(got, `{"short":"xxx"}`) {
		t.Errorf("its beginning is %s", got)
	}
}

func TestToolsSayWhatTheyDo(t *testing.T) {
	writes := []string{"create_table", "delete_rows", "insert_rows", "restore_version", "tag_version"}
	for _, write := range []bool{false, true} {
		a := connect(t, write)
		var changing []string
		for tool, err := range a.session.Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if tool.Description == "" || tool.Annotations.Title == "" || *tool.Annotations.OpenWorldHint {
				t.Errorf("%s is described by %q, %+v", tool.Name, tool.Description, tool.Annotations)
			}
			for name, property := range tool.InputSchema.(map[string]any)["properties"].(map[string]any) {
				if text, _ := property.(map[string]any)["description"].(string); text == "" && name != "columns" && name != "version" {
					t.Errorf("%s does not describe %s", tool.Name, name)
				}
			}
			if !tool.Annotations.ReadOnlyHint {
				changing = append(changing, tool.Name)
			}
		}
		if write != slices.Equal(changing, writes) || !write && changing != nil {
			t.Errorf("with write %v, %v change tables", write, changing)
		}
	}
}

func TestReaderCannotWrite(t *testing.T) {
	a := connect(t, false)
	_, err := a.session.CallTool(t.Context(), &sdk.CallToolParams{Name: "delete_rows", Arguments: map[string]any{"table": "t", "filter": "true"}})
	if err == nil || !strings.Contains(err.Error(), `unknown tool "delete_rows"`) {
		t.Errorf("a tool that is not offered: %v", err)
	}
}

func TestTableIsAResource(t *testing.T) {
	a := connect(t, true).withNotes()
	read := func(uri string) (string, error) {
		found, err := a.session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			return "", err
		}
		return found.Contents[0].Text, nil
	}
	got, err := read("tiltyard://table/sales/notes")
	if err != nil || !strings.Contains(got, `"text_columns":["body"]`) || !strings.Contains(got, `"sample":{"table":"sales/notes","version":3,"rows":[{"Unit Price":2.5,"body":"a quick fox","id":1},`) {
		t.Errorf("the resource is %s, %v", got, err)
	}
	if _, err := read("tiltyard://table/sales/none"); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("no table: %v", err)
	}
}

var update = flag.Bool("update", false, "write the table of docs/mcp.md again")

func TestDocsListTheTools(t *testing.T) {
	const path, begin, end = "../../docs/mcp.md", "<!-- tools -->\n", "<!-- end of tools -->\n"
	want := "| tool | arguments | what it does |\n| --- | --- | --- |\n"
	var reading, changing string
	for tool, err := range connect(t, true).session.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(tool.Description, ". ")
		row := fmt.Sprintf("| `%s` | %s | %s |\n", tool.Name, strings.Join(arguments(tool), ", "), strings.TrimSuffix(first, "."))
		if tool.Annotations.ReadOnlyHint {
			reading += row
		} else {
			changing += row
		}
	}
	want += reading + changing
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, hasBegin := strings.Cut(string(page), begin)
	got, after, hasEnd := strings.Cut(rest, end)
	if !hasBegin || !hasEnd {
		t.Fatalf("%s has no section between %q and %q", path, begin, end)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the tools in %s (-want +got), renew with go test ./local/mcp -update:\n%s", path, diff)
	}
}

// arguments returns the arguments of a tool, first those that it requires.
func arguments(tool *sdk.Tool) []string {
	schema := tool.InputSchema.(map[string]any)
	var required, optional []string
	needed, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(schema["properties"].(map[string]any))) {
		if slices.Contains(needed, any(name)) {
			required = append(required, "**"+name+"**")
		} else {
			optional = append(optional, name)
		}
	}
	return append(required, optional...)
}
