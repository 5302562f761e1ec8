package query_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/service/data"
	"tiltyard/shared/service/query"
	"tiltyard/shared/service/servicetest"
)

// openDocs returns the service over the tables docs, of five rows in two versions, and "My Docs".
func openDocs(t *testing.T) *query.Service {
	service, _ := openGrowingDocs(t)
	return service
}

// openGrowingDocs is openDocs that also returns a function that adds rows, as JSON, to docs.
func openGrowingDocs(t *testing.T) (*query.Service, func(rows string) error) {
	house := servicetest.Open(t)
	columns := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "title", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "Year", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
	}, nil)
	create := func(name, rows string) {
		_, err := data.New(house.Tables, arrowipc.Limits{}).Create(t.Context(), &dataapi.CreateTableRequest{
			Common: servicetest.Named(name), Upload: servicetest.UploadOf(t, columns, rows),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	create("docs", `[
		{"id": 1, "title": "red fish", "Year": 2001, "vector": [0, 0]},
		{"id": 2, "title": "blue fish", "Year": null, "vector": [1, 0]},
		{"id": 3, "title": "red red bird", "Year": 2003, "vector": [2, 0]},
		{"id": 4, "title": null, "Year": 2002, "vector": [3, 0]}]`)
	create("My Docs", `[{"id": 7, "title": "it's", "Year": 1, "vector": [0, 0]}]`)
	add := func(rows string) error {
		_, err := data.New(house.Tables, arrowipc.Limits{}).Insert(t.Context(), &dataapi.InsertRequest{
			Common: servicetest.Named("docs"), Upload: servicetest.UploadOf(t, columns, rows),
		})
		return err
	}
	if err := add(`[{"id": 5, "title": "a bird", "Year": 2005, "vector": [4, 0]}]`); err != nil {
		t.Fatal(err)
	}
	return query.New(house.Tables), add
}

// ask runs a statement with parameters from a JSON object.
func ask(t *testing.T, s *query.Service, text, parameters string) (*protocol.Rows, error) {
	t.Helper()
	req := &queryapi.StatementRequest{Query: text}
	if parameters != "" {
		if err := json.Unmarshal([]byte(parameters), &req.Parameters); err != nil {
			t.Fatal(err)
		}
	}
	if err := req.Validate(); err != nil {
		return nil, err
	}
	return s.Execute(t.Context(), req)
}

func TestStatementsSelect(t *testing.T) {
	service := openDocs(t)
	for _, c := range []struct{ text, parameters, want string }{
		{"SELECT id FROM docs", "", `{"id":1} {"id":2} {"id":3} {"id":4} {"id":5}`},
		{"select ID from docs where id < 3;", "", `{"ID":1} {"ID":2}`},
		{"SELECT * FROM docs WHERE id = 4", "", `{"Year":2002,"id":4,"title":null,"vector":[3,0]}`},
		{"SELECT * FROM docs LIMIT 0", "", ``},
		{"SELECT id, id * 10 AS ten FROM docs LIMIT 1 OFFSET 2", "", `{"id":3,"ten":30}`},
		{`SELECT upper(title) AS "Up per" FROM docs WHERE title LIKE 'red%'`, "", `{"Up per":"RED FISH"} {"Up per":"RED RED BIRD"}`},
		{"SELECT id + 1 FROM docs LIMIT 1", "", `{"id + 1":2}`},
		{`SELECT id, title FROM "My Docs"`, "", `{"id":7,"title":"it's"}`},
		{"SELECT count(*) FROM docs", "", `{"count(*)":5}`},
		{`SELECT count(*) AS n FROM docs WHERE "Year" > 2001`, "", `{"n":3}`},
		{"SELECT count(*) FROM docs VERSION AS OF 1", "", `{"count(*)":4}`},
		{"SELECT id FROM docs VERSION AS OF $v WHERE id > 3", `{"v": 1}`, `{"id":4}`},
		{"SELECT id FROM docs WHERE (title IS DISTINCT FROM 'a bird') AND id > 2", "", `{"id":3} {"id":4}`},
		{"SELECT id FROM docs WHERE (id = 1 OR id = 3) AND match(title, 'red') AND (title IS DISTINCT FROM 'red fish') AND id < 9", "", `{"id":3}`},
		{"SELECT _rowid AS at FROM docs WHERE id = 5", "", `{"at":4294967296}`},

		// Nulls are largest: last in ascending order, first in descending order.
		{`SELECT id FROM docs ORDER BY "Year"`, "", `{"id":1} {"id":4} {"id":3} {"id":5} {"id":2}`},
		{`SELECT id FROM docs ORDER BY "Year" DESC LIMIT 2`, "", `{"id":2} {"id":5}`},
		{`SELECT id FROM docs ORDER BY "Year" DESC NULLS LAST LIMIT 2`, "", `{"id":5} {"id":3}`},
		{`SELECT id FROM docs ORDER BY "Year" NULLS FIRST LIMIT 2 OFFSET 1`, "", `{"id":1} {"id":4}`},
		{`SELECT id, "Year" AS y FROM docs WHERE id <> 2 ORDER BY y DESC, id LIMIT 1`, "", `{"id":5,"y":2005}`},

		// Searches.
		{"SELECT id FROM docs ORDER BY distance(vector, [3.2, 0]) LIMIT 2", "", `{"id":4} {"id":5}`},
		{"SELECT * FROM docs ORDER BY distance(vector, [0, 0]) LIMIT 1", "", `{"Year":2001,"id":1,"title":"red fish","vector":[0,0]}`},
		{"SELECT id, distance(vector, $q) AS d FROM docs WHERE id > $least ORDER BY d LIMIT $k", `{"q": [0, 0], "least": 2, "k": 2}`, `{"d":4,"id":3} {"d":9,"id":4}`},
		{"SELECT id, 10 - _distance AS s FROM docs ORDER BY distance(vector, [0, 0]) LIMIT 2", "", `{"id":1,"s":10} {"id":2,"s":9}`},
		{"SELECT id FROM docs WHERE id < 5 ORDER BY distance(vector, [1, 1], 'dot') LIMIT 1 OFFSET 1", "", `{"id":3}`},
		{"SELECT id FROM docs WHERE match(title, 'bird') AND id > 3", "", `{"id":5}`},
		{"SELECT id FROM docs WHERE match(title, 'red') ORDER BY score() DESC LIMIT 1", "", `{"id":3}`},
		{"SELECT id FROM docs WHERE match(title, $words) ORDER BY id DESC", `{"words": "fish"}`, `{"id":2} {"id":1}`},

		{"SELECT id FROM docs WHERE match(title, 'red') ORDER BY id DESC LIMIT 1", "", `{"id":3}`},
		{"SELECT count(*) AS n FROM docs WHERE match(title, 'red')", "", `{"n":2}`},

		{"SELECT id FROM docs ORDER BY relevance(distance(vector, [3.2, 0]), match(title, 'red')) DESC LIMIT 2", "", `{"id":4} {"id":3}`},
		{"SELECT id, _score > 0 AS words, distance(vector, $q) AS d, round(_relevance_score * 1000) AS r FROM docs WHERE id <> 4 ORDER BY relevance(distance(vector, $q), match(title, $words)) DESC LIMIT 2", `{"q": [4, 0], "words": "red"}`, `{"d":4,"id":3,"r":33,"words":true} {"d":0,"id":5,"r":16,"words":null}`},
		{"SELECT id, relevance(distance(vector, [3, 0]), match(title, 'bird')) AS r FROM docs ORDER BY r DESC LIMIT 1", "", `{"id":4,"r":0.016393442}`},
		{"SELECT * FROM docs ORDER BY relevance(distance(vector, [0, 0]), match(title, 'fish')) DESC LIMIT 1", "", `{"Year":2001,"id":1,"title":"red fish","vector":[0,0]}`},
		{"SELECT max(id) AS m FROM (SELECT id FROM docs ORDER BY relevance(distance(vector, [0, 0]), match(title, 'fish')) DESC LIMIT 2) AS found", "", `{"m":2}`},

		// Sources have names, and more than one table is read.
		{"SELECT d.id FROM docs AS d WHERE d.id = 2", "", `{"id":2}`},
		{"SELECT docs.id FROM docs WHERE docs.id = 2 ORDER BY docs.id", "", `{"id":2}`},
		{"SELECT d.id FROM docs d ORDER BY distance(d.vector, [3.2, 0]) LIMIT 2", "", `{"id":4} {"id":5}`},
		{"SELECT id FROM docs ORDER BY -id LIMIT 2", "", `{"id":5} {"id":4}`},
		{"SELECT sum(id) AS s, count(*) AS n, max(title) AS t FROM docs WHERE id > 9", "", `{"n":0,"s":null,"t":null}`},
		{`SELECT "Year" > 2001 AS late, count(*) AS n FROM docs GROUP BY late ORDER BY late`, "", `{"late":false,"n":1} {"late":true,"n":3} {"late":null,"n":1}`},
		{"SELECT DISTINCT id % 2 AS odd FROM docs ORDER BY 1", "", `{"odd":0} {"odd":1}`},
		{`SELECT a.id, b.title FROM docs a JOIN "My Docs" b ON a.id + 2 = b.id`, "", `{"id":5,"title":"it's"}`},
		{`SELECT a.id, b.id AS other FROM docs a LEFT JOIN "My Docs" b ON a.id + 2 = b.id WHERE a.id > 3 ORDER BY 1`, "", `{"id":4,"other":null} {"id":5,"other":7}`},
		{`SELECT d.id, b.id AS other FROM (SELECT id FROM docs ORDER BY distance(vector, $q) LIMIT 2) AS d, "My Docs" AS b ORDER BY d.id`, `{"q": [3, 0]}`, `{"id":3,"other":7} {"id":4,"other":7}`},
		{`SELECT id FROM docs WHERE id NOT IN (SELECT id - 2 FROM "My Docs") AND id > 3`, "", `{"id":4}`},
		{"WITH late AS (SELECT id, title FROM docs WHERE id > 3) SELECT l.id, r.title FROM late l JOIN late r USING (id) ORDER BY id", "", `{"id":4,"title":null} {"id":5,"title":"a bird"}`},
		{`SELECT id FROM "My Docs" UNION ALL SELECT id FROM docs VERSION AS OF 1 ORDER BY id DESC LIMIT 2`, "", `{"id":7} {"id":4}`},
		{`SELECT * FROM (SELECT id, title FROM docs WHERE id = 5) AS a JOIN "My Docs" AS b ON a.id + 2 = b.id`, "", `{"Year":1,"a.id":5,"a.title":"a bird","b.id":7,"b.title":"it's","vector":[0,0]}`},
		{"SELECT 1 AS one, upper('x') AS x", "", `{"one":1,"x":"X"}`},
		{"SELECT * FROM (VALUES (1, 'a'), (2.5, NULL)) AS v (n, s) WHERE n > $n", `{"n": 1}`, `{"n":2.5,"s":null}`},

		{`SELECT id, "Year" FROM docs EXCEPT SELECT id, NULL FROM docs VERSION AS OF 1 WHERE id < 3 ORDER BY id LIMIT 2`, "", `{"Year":2001,"id":1} {"Year":2003,"id":3}`},
		{`SELECT "Year" FROM docs WHERE id < 3 INTERSECT SELECT CAST("Year" AS bigint) FROM docs ORDER BY 1`, "", `{"Year":2001} {"Year":null}`},
		{`SELECT id FROM docs WHERE id > 3 AND EXISTS (SELECT 1 FROM "My Docs" m WHERE m.id = $n) ORDER BY id`, `{"n": 7}`, `{"id":4} {"id":5}`},
		{`SELECT id FROM docs WHERE NOT EXISTS (SELECT * FROM "My Docs") OR id = 2`, "", `{"id":2}`},
		{`SELECT EXISTS (SELECT id FROM docs ORDER BY distance(vector, [0, 0])) AS some`, "", `{"some":true}`},

		// Parameters are values, whatever is in them.
		{"SELECT id FROM docs WHERE title = $t OR id = -$n", `{"t": "x' OR '1' = '1", "n": -5}`, `{"id":5}`},
		{"SELECT id FROM docs WHERE id IN ($a, $b) AND $yes AND title IS NOT DISTINCT FROM $none", `{"a": 1, "b": 4, "yes": true, "none": null}`, `{"id":4}`},
	} {
		rows, err := ask(t, service, c.text, c.parameters)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := strings.Join(strings.Split(strings.TrimSpace(servicetest.Lines(t, rows)), "\n"), " "); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestStatementsExplain(t *testing.T) {
	service := openDocs(t)
	for text, want := range map[string]string{
		"EXPLAIN SELECT id FROM docs WHERE id = 2":                                        "id = ",
		"EXPLAIN SELECT count(*) FROM docs":                                               "Group: by=[] calls=[count(*)]",
		"EXPLAIN SELECT a.id FROM docs a JOIN docs b ON a.id = b.id WHERE b.id > 3":       "HashJoin: kind=INNER on=[`a.id` = `b.id`]",
		"EXPLAIN ANALYZE SELECT id FROM docs WHERE id = 2":                                "rows=1, batches=1",
		"EXPLAIN SELECT id FROM docs ORDER BY distance(vector, [0, 0]) LIMIT 2":           "KNN",
		"explain analyze select id from docs where match(title, 'red') order by id desc;": "Sort",
		"EXPLAIN ANALYZE SELECT DISTINCT id % 2 AS odd FROM docs WHERE id > 1":            "Group: by=[`odd`] calls=[] rows=2 batches=1 time=",
		"EXPLAIN ANALYZE SELECT a.id FROM docs a JOIN docs b ON a.id = b.id + 2":          "in_memory=left rows=3 batches=2 time=",
	} {
		rows, err := ask(t, service, text, "")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := servicetest.Lines(t, rows); rows.Schema.Field(0).Name != "plan" || !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want a plan with %q", text, got, want)
		}
	}
}

func TestStatementsThatCannotRunNameTheMistake(t *testing.T) {
	service := openDocs(t)
	for _, c := range []struct {
		text, parameters string
		code             protocol.Code
		want             string // in the message
	}{
		{"", "", protocol.InvalidInput, "query is missing"},
		{"SELECT", "", protocol.InvalidInput, "expected an expression"},
		{"DELETE FROM docs", "", protocol.InvalidInput, `"DELETE"`},
		{"SELECT id FROM docs, other", "", protocol.TableNotFound, "other"},
		{"SELECT id FROM docs a, docs b", "", protocol.TableColumnNotFound, "is in a and in b"},
		{"SELECT a.id FROM docs a, docs a", "", protocol.InvalidInput, "two sources in FROM have the name a"},
		{"SELECT id FROM docs a LEFT JOIN docs b ON a.id < b.id", "", protocol.Unsupported, "LEFT JOIN without an equality"},
		{"SELECT x FROM (SELECT id FROM docs) AS d", "", protocol.TableColumnNotFound, "no column x; there are d.id"},
		{"SELECT id FROM docs WHERE id IN (SELECT id, title FROM docs)", "", protocol.InvalidInput, "has 2 columns"},
		{"SELECT id FROM docs WHERE id = 1 OR id IN (SELECT id FROM docs)", "", protocol.Unsupported, "other than as a condition"},
		{"SELECT title, count(*) FROM docs GROUP BY id", "", protocol.TableColumnNotFound, "docs.title has no value for a group"},
		{"SELECT id FROM docs EXCEPT SELECT id, title FROM docs", "", protocol.InvalidInput, "EXCEPT of 1 and 2 columns"},
		{"SELECT id FROM docs INTERSECT ALL SELECT id FROM docs", "", protocol.Unsupported, "INTERSECT ALL"},
		{"SELECT vector FROM docs INTERSECT SELECT vector FROM docs", "", protocol.Unsupported, "a value of type"},
		{"SELECT id FROM docs d WHERE EXISTS (SELECT 1 FROM docs AS e WHERE e.id = d.id)", "", protocol.Unsupported, "at byte 73: column d.id of the query around this one"},
		{"SELECT id FROM docs d WHERE id > (SELECT max(e.id) AS m FROM docs AS e GROUP BY e.title HAVING max(e.id) < d.id)", "", protocol.Unsupported, "at byte 107: column d.id of the query around"},
		{"SELECT id FROM docs d WHERE id IN (SELECT id FROM docs AS e WHERE e.id = d.id)", "", protocol.Unsupported, "at byte 73: column d.id of the query around"},
		{"SELECT id FROM docs d WHERE id IN (SELECT id FROM docs AS e WHERE e.id = x.id)", "", protocol.TableColumnNotFound, "at byte 73: no column x.id"},
		{"SELECT id FROM docs WHERE id > 0 AND (id < 9 OR nope = 1)", "", protocol.InvalidInput, "query: unknown column at byte 48"},
		{"SELECT id, upper(nope) AS x FROM docs", "", protocol.TableColumnNotFound, "query: unknown column at byte 17"},
		{"SELECT id FROM docs GROUP BY id HAVING EXISTS (SELECT 1)", "", protocol.Unsupported, "EXISTS in this place"},
		{"SELECT id FROM docs TAG 'nope'", "", protocol.TableTagNotFound, "nope"},
		{"SELECT id FROM docs UNION SELECT id, title FROM docs", "", protocol.InvalidInput, "UNION of 1 and 2 columns"},
		{"SELECT id FROM docs UNION SELECT vector FROM docs", "", protocol.InvalidInput, "no common type"},
		{"SELECT DISTINCT vector FROM docs", "", protocol.Unsupported, "GROUP BY a value of type"},
		{"SELECT DISTINCT id FROM docs ORDER BY title", "", protocol.Unsupported, "no column of SELECT DISTINCT"},
		{"SELECT id FROM docs d ORDER BY 2, -id", "", protocol.InvalidInput, "columns 1 to 1"},
		{"SELECT id FROM docs WHERE sum(id) > 1", "", protocol.Unsupported, "sum"},
		{"SELECT id FROM nope", "", protocol.TableNotFound, "nope"},
		{"SELECT id FROM a.b", "", protocol.NamespaceNotFound, "a"},
		{"SELECT id FROM docs VERSION AS OF 9", "", protocol.TableVersionNotFound, "9"},
		{"SELECT id FROM docs BRANCH 'b'", "", protocol.TableBranchNotFound, "b"},
		{"SELECT nope FROM docs", "", protocol.TableColumnNotFound, "nope"},
		{"SELECT `id + 1` FROM docs", "", protocol.TableColumnNotFound, "id + 1"},
		{"SELECT id FROM docs ORDER BY nope", "", protocol.TableColumnNotFound, "nope"},
		{"SELECT id AS x, title AS x FROM docs", "", protocol.InvalidInput, "twice"},
		{"SELECT id FROM docs LIMIT -1", "", protocol.Unsupported, "LIMIT -1"},
		{"SELECT id FROM docs LIMIT 1.5", "", protocol.Unsupported, "LIMIT 1.5"},
		{"SELECT id FROM docs LIMIT $k", `{"k": "1"}`, protocol.Unsupported, "LIMIT '1'"},
		{"SELECT id FROM docs WHERE id = $a", "", protocol.InvalidInput, "$a has no value"},
		{"SELECT id FROM docs", `{"a": 1}`, protocol.InvalidInput, "no parameter $a"},
		{"SELECT id FROM docs WHERE id = $a", `{"a": {"b": 1}}`, protocol.InvalidInput, "is an object"},
		{"SELECT id FROM docs WHERE id = $", "", protocol.InvalidInput, "without the name"},
		{"SELECT id FROM docs ORDER BY distance(vector, [1, 2])", "", protocol.Unsupported, "without LIMIT"},
		{"SELECT id FROM docs ORDER BY distance(vector, [1, 2]) DESC LIMIT 1", "", protocol.Unsupported, "nearest"},
		{"SELECT id FROM docs ORDER BY distance(vector, [1, 2]), id LIMIT 1", "", protocol.Unsupported, "other keys"},
		{"SELECT id FROM docs ORDER BY distance(vector, 'a') LIMIT 1", "", protocol.InvalidInput, "not a list of numbers"},
		{"SELECT id FROM docs ORDER BY distance(vector, [1, 'a']) LIMIT 1", "", protocol.InvalidInput, "item 1"},
		{"SELECT id FROM docs ORDER BY distance(vector, [1, 2], 'far') LIMIT 1", "", protocol.InvalidInput, "not a metric"},
		{"SELECT id FROM docs ORDER BY distance(vector, [1, 2, 3]) LIMIT 1", "", protocol.InvalidInput, "3"},
		{"SELECT distance(vector, [1, 2]) FROM docs", "", protocol.Unsupported, "without ORDER BY"},
		{"SELECT distance(vector, [1, 2]) AS d FROM docs ORDER BY distance(vector, [1, 3]) LIMIT 1", "", protocol.Unsupported, "the same distance"},
		{"SELECT id FROM docs WHERE match(title, 'a') AND match(title, 'b')", "", protocol.Unsupported, "match twice"},
		{"SELECT id FROM docs WHERE match(title, 'a') OR id = 1", "", protocol.Unsupported, "match"},
		{"SELECT id FROM docs WHERE match(title)", "", protocol.InvalidInput, "it is match"},
		{"SELECT id FROM docs WHERE match(title, 'a') ORDER BY distance(vector, [1, 2]) LIMIT 1", "", protocol.Unsupported, "searches for both"},
		{"SELECT id FROM docs ORDER BY relevance(distance(vector, [1, 2]), match('a')) LIMIT 1", "", protocol.Unsupported, "DESC LIMIT n"},
		{"SELECT id FROM docs ORDER BY relevance(match('a'), distance(vector, [1, 2])) DESC LIMIT 1", "", protocol.InvalidInput, "it is relevance(distance(column, vector)"},
		{"SELECT id FROM docs WHERE match('b') ORDER BY relevance(distance(vector, [1, 2]), match('a')) DESC LIMIT 1", "", protocol.Unsupported, "searches for words itself"},
		{"SELECT relevance(distance(vector, [1, 2]), match('a')) FROM docs", "", protocol.Unsupported, "relevance(…) without ORDER BY"},
		{"SELECT id FROM docs ORDER BY score() DESC", "", protocol.Unsupported, "score()"},
	} {
		rows, err := ask(t, service, c.text, c.parameters)
		if err == nil {
			t.Errorf("%s: got rows %s, want an error", c.text, servicetest.Lines(t, rows))
			continue
		}
		servicetest.WantCode(t, c.text, err, c.code)
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", c.text, err, c.want)
		}
	}
}

// Values that cannot be computed are found when rows are read, and their errors have the place in the statement.
func TestErrorsOfRowsHaveTheirPlaces(t *testing.T) {
	service := openDocs(t)
	for text, want := range map[string]string{
		"SELECT id, 10 / (id - 1) AS x FROM docs":                                  "at byte 14: ",
		"SELECT id FROM docs WHERE id > 0 AND 10 / (id - 1) > 2":                   "at byte 40: ",
		"SELECT a.id FROM docs a JOIN docs b USING (id) WHERE 10 / (b.id - 1) > 2": "at byte 56: ",
		"SELECT DISTINCT 10 / (id - 1) AS x FROM docs":                             "at byte 19: ",
	} {
		rows, err := ask(t, service, text, "")
		errs := rowsOf(rows, err)
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%s: got %v, want %q", text, errs, want)
		}
	}
}

// A statement has no table in its path, so the right to read the one that it names is checked when it is known.
func TestStatementsNeedTheRightsOfTheirOperations(t *testing.T) {
	service := openDocs(t)
	texts := map[string][]string{
		"QueryTable": {"SELECT id FROM docs", "SELECT DISTINCT id FROM docs"}, "CountTableRows": {"SELECT count(*) FROM docs"},
		"ExplainTableQueryPlan": {"EXPLAIN SELECT id FROM docs", "EXPLAIN SELECT DISTINCT id FROM docs"},
		"AnalyzeTableQueryPlan": {"EXPLAIN ANALYZE SELECT id FROM docs", "EXPLAIN ANALYZE SELECT DISTINCT id FROM docs"},
	}
	for permitted := range texts {
		for sees, refusal := range map[string]protocol.Code{"": protocol.TableNotFound, `, Action::"DescribeTable"`: protocol.PermissionDenied} {
			policy := fmt.Sprintf(`permit (principal, action in [Action::%q%s], resource);`, permitted, sees)
			for _, at := range pairs(texts) {
				operation, text := at[0], at[1]
				access, err := auth.OpenPolicies(func(context.Context) ([]byte, error) { return []byte(policy), nil }, time.Now).Access(t.Context(), &auth.Principal{Subject: "ada"})
				if err != nil {
					t.Fatal(err)
				}
				_, err = service.Execute(auth.WithAccess(t.Context(), access), &queryapi.StatementRequest{Query: text})
				if operation != permitted {
					servicetest.WantCode(t, policy+text, err, refusal)
				} else if err != nil {
					t.Errorf("%s %s: %v", policy, text, err)
				}
			}
		}
	}
}

// pairs returns each key with each of its texts.
func pairs(texts map[string][]string) (all [][2]string) {
	for key, list := range texts {
		for _, text := range list {
			all = append(all, [2]string{key, text})
		}
	}
	return all
}

// Wherever a statement names a table, its sender needs the right to read it.
func TestStatementsNeedTheRightToEachTable(t *testing.T) {
	service := openDocs(t)
	as := func(policy string) context.Context {
		access, err := auth.OpenPolicies(func(context.Context) ([]byte, error) { return []byte(policy), nil }, time.Now).Access(t.Context(), &auth.Principal{Subject: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		return auth.WithAccess(t.Context(), access)
	}
	const docs, sees = `permit (principal, action, resource == Table::"docs");`, `permit (principal, action in [Action::"DescribeTable"], resource);`
	for _, text := range []string{
		`SELECT d.id FROM docs d JOIN %s m ON d.id = m.id`, `SELECT d.id FROM docs d, %s m`, `SELECT d.id FROM docs d LEFT JOIN %s m USING (id)`,
		`SELECT id FROM docs WHERE id IN (SELECT id FROM %s)`, `SELECT id FROM docs WHERE id NOT IN (SELECT id FROM %s)`,
		`SELECT id FROM docs WHERE id > (SELECT max(id) FROM %s)`, `SELECT (SELECT count(*) FROM %s) AS n`,
		`WITH m AS (SELECT id FROM %s) SELECT m.id FROM m`, `SELECT id FROM (SELECT id FROM %s LIMIT 1) AS m`,
		`SELECT id FROM docs WHERE EXISTS (SELECT 1 FROM %s)`, `SELECT id FROM docs WHERE id > 1 OR NOT EXISTS (SELECT id FROM %s)`,
		`SELECT id FROM docs INTERSECT SELECT id FROM %s`, `SELECT id FROM docs EXCEPT SELECT id FROM %s`,
		`SELECT id FROM docs UNION SELECT id FROM %s`, `SELECT sum(id) AS s FROM %s`, `EXPLAIN SELECT DISTINCT id FROM %s`,
		`EXPLAIN ANALYZE SELECT DISTINCT id FROM %s`, `SELECT id FROM docs d WHERE EXISTS (SELECT 1 FROM %s e WHERE e.id > 1)`,
	} {
		if _, err := service.Execute(as(docs), &queryapi.StatementRequest{Query: fmt.Sprintf(text, "docs")}); err != nil {
			t.Errorf("%s of a table that may be read: %v", text, err)
		}
		for policy, want := range map[string]protocol.Code{docs: protocol.TableNotFound, docs + sees: protocol.PermissionDenied} {
			for _, describe := range []queryapi.Description{queryapi.DescribeNothing, queryapi.DescribeColumns} {
				_, err := service.Execute(as(policy), &queryapi.StatementRequest{Query: fmt.Sprintf(text, `"My Docs"`), Describe: describe})
				servicetest.WantCode(t, fmt.Sprint(describe, " of ", text), err, want)
			}
		}
	}
}

// A table has one version in a statement, whatever is written meanwhile.
func TestTableHasOneVersionInAStatement(t *testing.T) {
	service, add := openGrowingDocs(t)
	done := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 40 && err == nil; i++ {
			err = add(fmt.Sprintf(`[{"id": %d}]`, 100+i))
		}
		done <- err
	}()
	grown := map[string]bool{}
	for {
		rows, err := ask(t, service, "SELECT a.n, b.n AS m FROM (SELECT count(*) AS n FROM docs) a, (SELECT count(*) AS n FROM docs) b WHERE a.n <> b.n OR a.n > 0", "")
		if err != nil {
			t.Fatal(err)
		}
		line := servicetest.Lines(t, rows)
		var n, m int
		if _, err := fmt.Sscanf(line, `{"m":%d,"n":%d}`, &m, &n); err != nil || n != m {
			t.Fatalf("got %s, %v: two versions", line, err)
		}
		grown[line] = true
		select {
		case err := <-done:
			if err != nil || len(grown) < 2 {
				t.Fatalf("the table did not grow: %v, %v", grown, err)
			}
			return
		default:
		}
	}
}

// What a statement keeps is charged to the request.
func TestStatementsAreRefusedWhenTheyNeedTooMuchMemory(t *testing.T) {
	service := openDocs(t)
	share := memory.NewBudget(64<<10, 64<<10).Open()
	defer share.Close()
	rows, err := service.Execute(memory.WithShare(t.Context(), share), &queryapi.StatementRequest{Query: "SELECT a.id FROM docs a, docs b, docs c, docs d, docs e, docs f ORDER BY a.id + b.id"})
	for _, failed := range rowsOf(rows, err) {
		err = failed
	}
	if !memory.TooMuch(err) {
		t.Errorf("got %v, want too much memory", err)
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
