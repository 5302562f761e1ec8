package syntax

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/sql"
)

func TestParseCommand(t *testing.T) {
	three, yes, no := int64(3), true, false
	for text, want := range map[string]Command{
		// These are the statements of LanceDB's clients.
		`CREATE MATERIALIZED VIEW "adults" AS SELECT * FROM people`: &CreateView{
			Name: []string{"adults"}, Materialized: true, Query: Part{Text: strings.Repeat(" ", 37) + "SELECT * FROM people"},
		},
		`CREATE MATERIALIZED VIEW "adults" WITH (auto_refresh_enabled = false, auto_refresh_interval_seconds = 0.5) AS SELECT 1`: &CreateView{
			Name: []string{"adults"}, Materialized: true, Query: Part{Text: strings.Repeat(" ", 110) + "SELECT 1"},
			Options: []Option{{"auto_refresh_enabled", &Bool{Value: false}, 40}, {"auto_refresh_interval_seconds", &Number{Text: "0.5"}, 70}},
		},
		`REFRESH MATERIALIZED VIEW "v""w"`:                 &RefreshView{Name: []string{`v"w`}},
		`REFRESH MATERIALIZED VIEW "v" WITH (full = true)`: &RefreshView{Name: []string{"v"}, Options: []Option{{"full", &Bool{Value: true}, 36}}},
		`DESCRIBE MATERIALIZED VIEW "v"`:                   &Describe{Name: []string{"v"}, Materialized: true},
		`DROP MATERIALIZED VIEW "v"`:                       &Drop{Kind: DropMaterializedView, Name: []string{"v"}},
		`SHOW MATERIALIZED VIEWS LIMIT 3`:                  &Show{Kind: ShowMaterializedViews, Limit: &three},
		`SHOW MATERIALIZED VIEWS WHERE name > 'b''c' LIMIT 3`: &Show{
			Kind: ShowMaterializedViews, After: "b'c", Limit: &three,
		},

		"show tables":                     &Show{Kind: ShowTables},
		"show schemas in a.\"B\" limit 3": &Show{Kind: ShowNamespaces, In: []string{"a", "B"}, Limit: &three},
		"SHOW INDEXES FROM a.t":           &Show{Kind: ShowIndexes, In: []string{"a", "t"}},
		"SHOW VERSIONS t BRANCH 'b'":      &Show{Kind: ShowVersions, In: []string{"t"}, Branch: "b"},
		"DESC t":                          &Describe{Name: []string{"t"}},
		"describe table t":                &Describe{Name: []string{"t"}},

		"DELETE FROM t WHERE a = 1 AND b;;": &Delete{Table: []string{"t"}, Where: must(t, "a = 1 AND b")},
		"UPDATE n.t BRANCH 'b' SET a = a + 1, `b c` = $x WHERE a": &Update{
			Table: []string{"n", "t"}, Branch: "b", Where: must(t, "a"), Set: []Assignment{{"a", must(t, "a + 1")}, {"b c", &Text{Value: "it's"}}},
		},
		"INSERT INTO t (a, b) VALUES (1, $x), (2, NULL)": &Insert{
			Table: []string{"t"}, Columns: []string{"a", "b"}, Pos: 21, Values: [][]Expr{{must(t, "1"), &Text{Value: "it's"}}, {must(t, "2"), must(t, "NULL")}},
		},
		"INSERT INTO t SELECT a FROM b WHERE c = $x AND d = $x;": &Insert{
			Table: []string{"t"}, Pos: 14, Query: &Part{Text: strings.Repeat(" ", 14) + "SELECT a FROM b WHERE c = $x AND d = $x", Parameters: []string{"x"}},
		},
		"INSERT OVERWRITE TABLE t VALUES (1)": &Insert{Table: []string{"t"}, Overwrite: true, Pos: 25, Values: [][]Expr{{must(t, "1")}}},

		"CREATE TABLE IF NOT EXISTS t (a bigint NOT NULL, v VECTOR(3), w FLOAT[], x decimal(4,1) NULL)": &CreateTable{
			Name: []string{"t"}, IfNotExists: true, Columns: []ColumnDefinition{
				{"a", ColumnType{TypeName{Name: "bigint"}, nil, 32}, false, 30},
				{"v", ColumnType{TypeName{Name: "float"}, []int{3}, 51}, true, 49},
				{"w", ColumnType{TypeName{Name: "float"}, []int{0}, 64}, true, 62},
				{"x", ColumnType{TypeName{"decimal", []int{4, 1}}, nil, 75}, true, 73},
			},
		},
		"CREATE OR REPLACE TABLE t AS SELECT 1": &CreateTable{Name: []string{"t"}, Replace: true, Query: &Part{Text: strings.Repeat(" ", 29) + "SELECT 1"}},
		"CREATE NAMESPACE a.b":                  &CreateNamespace{Name: []string{"a", "b"}},
		"CREATE VIEW v AS SELECT a FROM t":      &CreateView{Name: []string{"v"}, Query: Part{Text: strings.Repeat(" ", 17) + "SELECT a FROM t"}},
		"CREATE INDEX ON t USING btree (a.b)":   &CreateIndex{Table: []string{"t"}, Kind: "btree", Column: "a.b"},
		"CREATE INDEX i ON t USING IVF_PQ (v) WITH (distance_type = 'dot')": &CreateIndex{
			Name: "i", Table: []string{"t"}, Kind: "IVF_PQ", Column: "v", Options: []Option{{"distance_type", &Text{Value: "dot"}, 43}},
		},
		"CREATE TAG 'v1' ON t VERSION AS OF 3": &CreateTag{Name: "v1", Table: []string{"t"}, Version: &three},
		"CREATE BRANCH b ON t BRANCH 'c'":      &CreateBranch{Name: "b", Table: []string{"t"}, Branch: "c"},

		"DROP TABLE IF EXISTS a.t":      &Drop{Kind: DropTable, Name: []string{"a", "t"}, IfExists: true},
		"DROP SCHEMA a CASCADE":         &Drop{Kind: DropNamespace, Name: []string{"a"}, Cascade: true},
		"DROP INDEX i ON t BRANCH 'b'":  &Drop{Kind: DropIndex, Label: "i", Name: []string{"t"}, Branch: "b"},
		"DROP TAG IF EXISTS 'v 1' ON t": &Drop{Kind: DropTag, Label: "v 1", Name: []string{"t"}, IfExists: true},

		"ALTER TABLE t ADD COLUMN a int, b text":              &AlterTable{Table: []string{"t"}, Add: []ColumnDefinition{{"a", ColumnType{TypeName{Name: "int"}, nil, 27}, true, 25}, {"b", ColumnType{TypeName{Name: "string"}, nil, 34}, true, 32}}},
		"ALTER TABLE t ADD a GENERATED ALWAYS AS (b + 1)":     &AlterTable{Table: []string{"t"}, Computed: &Assignment{"a", must(t, "b + 1")}},
		"ALTER TABLE t DROP COLUMN a, b.c":                    &AlterTable{Table: []string{"t"}, Drop: []string{"a", "b.c"}},
		"ALTER TABLE t RENAME COLUMN a TO b":                  &AlterTable{Table: []string{"t"}, Change: &ColumnChange{Column: "a", Rename: "b", Pos: 28}},
		"ALTER TABLE t RENAME TO n.u":                         &AlterTable{Table: []string{"t"}, Rename: []string{"n", "u"}},
		"ALTER TABLE t ALTER COLUMN a SET NOT NULL":           &AlterTable{Table: []string{"t"}, Change: &ColumnChange{Column: "a", Nullable: &no, Pos: 27}},
		"ALTER TABLE t ALTER a DROP NOT NULL":                 &AlterTable{Table: []string{"t"}, Change: &ColumnChange{Column: "a", Nullable: &yes, Pos: 20}},
		"ALTER TABLE t BRANCH 'b' ALTER a SET DATA TYPE INT8": &AlterTable{Table: []string{"t"}, Branch: "b", Change: &ColumnChange{Column: "a", Type: &ColumnType{TypeName{Name: "bigint"}, nil, 47}, Pos: 31}},
		"OPTIMIZE TABLE t":                                    &Optimize{Table: []string{"t"}},
		"OPTIMIZE t":                                          &Optimize{Table: []string{"t"}},

		"MERGE INTO n.t BRANCH 'b' AS x USING s ON x.k = s.k WHEN MATCHED AND s.v > x.v THEN UPDATE SET v = $x, x.w = s.w + 1 WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, 1)": &Merge{
			Table: []string{"n", "t"}, Branch: "b", Alias: "x", Source: &Table{Name: []Name{{Text: "s"}}}, On: must(t, "x.k = s.k"), Clauses: []MergeClause{
				{Rows: Matched, And: must(t, "s.v > x.v"), Action: MergeUpdate, Columns: []*Column{must(t, "v").(*Column), must(t, "x.w").(*Column)}, Values: []Expr{&Text{Value: "it's"}, must(t, "s.w + 1")}, Pos: 52},
				{Rows: NotMatched, Action: MergeInsert, Columns: []*Column{must(t, "k").(*Column), must(t, "v").(*Column)}, Values: []Expr{must(t, "s.k"), must(t, "1")}, Pos: 117},
			},
		},
		"MERGE INTO t USING u AS s ON t.k = s.k WHEN NOT MATCHED BY SOURCE AND v THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED BY TARGET THEN INSERT *": &Merge{
			Table: []string{"t"}, Source: &Table{Name: []Name{{Text: "u"}}, Alias: Alias{Name: &Name{Text: "s"}}}, On: must(t, "t.k = s.k"), Clauses: []MergeClause{
				{Rows: NotMatchedBySource, And: must(t, "v"), Action: MergeDelete, Pos: 39},
				{Rows: Matched, Action: MergeUpdate, All: true, Pos: 84}, {Rows: NotMatched, Action: MergeInsert, All: true, Pos: 115},
			},
		},

		// These are queries, for another parser.
		"SELECT 1": nil, "EXPLAIN SELECT 1": nil, "": nil, "nonsense": nil, "(SELECT 1)": nil,
	} {
		var parameters map[string]Expr
		if strings.Contains(text, "$x") {
			parameters = map[string]Expr{"x": &Text{Value: "it's"}}
		}
		got, err := ParseCommand(text, parameters)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(written(t, want), written(t, got)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", text, diff)
		}
	}
}

// must parses an expression.
func must(t *testing.T, text string) Expr {
	e, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// written is a command without the places of its expressions.
func written(t *testing.T, c Command) string {
	text, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestParseCommandNamesTheMistake(t *testing.T) {
	for text, want := range map[string]struct {
		kind error
		text string
	}{
		"BEGIN":                            {sql.ErrUnsupported, "atomic commit"},
		"COMMIT":                           {sql.ErrUnsupported, "committed when it ends"},
		"ROLLBACK":                         {sql.ErrUnsupported, "RestoreTable"},
		"SET a = 1":                        {sql.ErrUnsupported, "parameters"},
		"GRANT a TO b":                     {sql.ErrUnsupported, "policies"},
		"TRUNCATE t":                       {sql.ErrUnsupported, "WHERE true"},
		"MERGE INTO t USING s ON a = b":    {sql.ErrSyntax, "WHEN"},
		"MERGE INTO t USING (SELECT 1) ON": {sql.ErrSyntax, "write USING (…) AS name"},
		"MERGE INTO t USING (a JOIN b USING (c)) ON t.c = a.c WHEN MATCHED THEN DELETE":    {sql.ErrUnsupported, "USING with a join"},
		"MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN DELETE":                   {sql.ErrSyntax, "INSERT"},
		"MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN INSERT *":                     {sql.ErrSyntax, "UPDATE SET or DELETE"},
		"MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN UPDATE SET a = (SELECT 1)":    {sql.ErrUnsupported, "subqueries"},
		"MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)": {sql.ErrSyntax, "one value for each column"},
		"MERGE INTO t USING s ON t.a = s.a WHEN NOT MATCHED THEN INSERT VALUES (1), (2)":   {sql.ErrSyntax, "one row"},
		"DELETE FROM t":                    {sql.ErrSyntax, "byte 13: DELETE without WHERE"},
		"DELETE FROM T WHERE a":            {sql.ErrUnsupported, `write "T"`},
		"DELETE FROM t WHERE a b":          {sql.ErrSyntax, `byte 22: unexpected "b"`},
		"DELETE FROM t WHERE a = $x":       {sql.ErrSyntax, "$x has no value"},
		"DELETE FROM t WHERE a IN (SELECT": {sql.ErrUnsupported, "subqueries"},
		"UPDATE t SET a = 1 FROM b":        {sql.ErrUnsupported, "UPDATE … FROM"},
		"UPDATE t SET a":                   {sql.ErrSyntax, `expected "="`},
		"INSERT INTO t VALUES (1), (1, 2)": {sql.ErrSyntax, "row 2 of VALUES has 2 values"},
		"INSERT INTO t VALUES ()":          {sql.ErrSyntax, "expected"},
		"INSERT INTO t DEFAULT VALUES":     {sql.ErrSyntax, "expected VALUES or SELECT"},
		"INSERT INTO t SELECT $x":          {sql.ErrSyntax, "$x has no value"},
		"CREATE USER a":                    {sql.ErrUnsupported, "it may be CREATE TABLE"},
		"CREATE TABLE t":                   {sql.ErrSyntax, `expected "("`},
		"CREATE TABLE t (a wide)":          {sql.ErrUnsupported, "byte 18: type wide"},
		"CREATE TABLE t (a int PRIMARY":    {sql.ErrUnsupported, "PRIMARY"},
		"CREATE TABLE t (UNIQUE (a))":      {sql.ErrUnsupported, "UNIQUE"},
		"CREATE TABLE t (v VECTOR(0))":     {sql.ErrSyntax, "the length of a VECTOR"},
		"CREATE TABLE t (v INT[99999999])": {sql.ErrSyntax, "the length of a list"},
		"CREATE OR REPLACE VIEW v AS":      {sql.ErrUnsupported, "drop it first"},
		"CREATE MATERIALIZED VIEW v":       {sql.ErrSyntax, "expected AS"},
		"CREATE VIEW v WITH (a = 1, a = 2": {sql.ErrSyntax, "twice"},
		"CREATE VIEW v WITH (a = b) AS":    {sql.ErrUnsupported, "it takes a value"},
		"CREATE INDEX i ON t (a)":          {sql.ErrSyntax, "expected USING"},
		"CREATE INDEX ON t USING x (a, b)": {sql.ErrUnsupported, "several columns"},
		"CREATE TAG a ON t":                {sql.ErrSyntax, "VERSION AS OF"},
		"DROP USER a":                      {sql.ErrUnsupported, "it may be DROP TABLE"},
		"DROP INDEX i":                     {sql.ErrSyntax, "expected ON"},
		"SHOW GRANTS":                      {sql.ErrUnsupported, "it may be SHOW TABLES"},
		"SHOW TABLES WHERE name LIKE 'a'":  {sql.ErrUnsupported, "WHERE name > 'text'"},
		"ALTER TABLE t ADD a int NOT NULL": {sql.ErrUnsupported, "SET NOT NULL"},
		"ALTER TABLE t ADD a int DEFAULT":  {sql.ErrUnsupported, "DEFAULT"},
		"ALTER VIEW v":                     {sql.ErrUnsupported, "it may be ALTER TABLE"},
		"SHOW TABLES; DROP TABLE t":        {sql.ErrSyntax, `unexpected "DROP" after the statement`},
	} {
		_, err := ParseCommand(text, nil)
		if !errors.Is(err, want.kind) || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: got %v, want a %v with %q", text, err, want.kind, want.text)
		}
	}
	if _, err := ParseCommand("SHOW TABLES", map[string]Expr{"x": &Null{}}); err == nil || !strings.Contains(err.Error(), "no parameter $x") {
		t.Errorf("got %v for a parameter that does not occur", err)
	}
}

// Whatever is parsed has expressions that can be parsed again, as the operations do, and a query that begins where it
// does in the statement.
func FuzzParseCommand(f *testing.F) {
	for _, text := range []string{
		"DELETE FROM a.b WHERE x > 1", "UPDATE t SET a = b, c = $x WHERE d", "INSERT INTO t (a) VALUES (1), ($x)", "INSERT INTO t SELECT $x;",
		"CREATE TABLE t (a int[3][], b VECTOR(2) NOT NULL)", "ALTER TABLE t ADD a GENERATED ALWAYS AS (b)", "CREATE INDEX i ON t USING a (b) WITH (c = 1)",
		"MERGE INTO t AS x USING (SELECT $x AS k) AS s ON x.k = s.k WHEN MATCHED AND a THEN UPDATE SET b = s.c WHEN NOT MATCHED THEN INSERT (k) VALUES (s.k) WHEN NOT MATCHED BY SOURCE THEN DELETE",
		"SHOW TABLES IN a WHERE name > 'b' LIMIT 2", "DROP TAG a ON b", "CREATE MATERIALIZED VIEW v WITH (a = true) AS SELECT 1;;",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		command, err := ParseCommand(text, map[string]Expr{"x": &Text{Value: "'"}})
		if err != nil {
			var known *sql.Error
			if !errors.As(err, &known) {
				t.Fatalf("got %v, which has no place", err)
			}
			return
		}
		var expressions []Expr
		part := (*Part)(nil)
		switch c := command.(type) {
		case *Delete:
			expressions = append(expressions, c.Where)
		case *Update:
			for _, a := range c.Set {
				expressions = append(expressions, a.Value)
			}
		case *Merge:
			expressions = append(expressions, c.On)
			for _, clause := range c.Clauses {
				if expressions = append(expressions, clause.Values...); clause.And != nil {
					expressions = append(expressions, clause.And)
				}
			}
		case *Insert:
			part = c.Query
		case *CreateView:
			part = &c.Query
		}
		for _, e := range expressions {
			if _, err := (Limits{Bytes: 1 << 22, Nodes: 1 << 20, Depth: 1 << 10}).Parse(e.String()); err != nil {
				t.Errorf("%s: %v", e, err)
			}
		}
		if part != nil && strings.TrimLeft(part.Text, " ") != "" && !strings.HasPrefix(text[len(part.Text)-len(strings.TrimLeft(part.Text, " ")):], strings.TrimLeft(part.Text, " ")) {
			t.Errorf("%q is not at its place", part.Text)
		}
	})
}
