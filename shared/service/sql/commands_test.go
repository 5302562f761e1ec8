package sql_test

import (
	"strings"
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/service/servicetest"
)

func TestCommandsChangeRows(t *testing.T) {
	d := open(t)
	d.wants("CREATE TABLE t (id bigint NOT NULL, name text, v VECTOR(2), tags text[], at timestamp, price decimal(6,2), ok boolean)", `{"status":"created table t"}`)
	d.wants("INSERT INTO t VALUES (1, 'a', [0.5, 1], ['x', 'y'], timestamp '2024-01-02 03:04:05', 1.5, true), (1 + 1, NULL, NULL, NULL, NULL, NULL, NULL)", `{"count":2}`)
	d.wants("INSERT INTO t (name, id) VALUES (upper('c'), 3)", `{"count":1}`)
	d.wants("SELECT * FROM t ORDER BY id", `{"at":"2024-01-02T03:04:05","id":1,"name":"a","ok":true,"price":"1.5","tags":["x","y"],"v":[0.5,1]} `+
		`{"at":null,"id":2,"name":null,"ok":null,"price":null,"tags":null,"v":null} {"at":null,"id":3,"name":"C","ok":null,"price":null,"tags":null,"v":null}`)
	d.wants("UPDATE t SET name = name || '!', v = [id, 2] WHERE id <> 2", `{"count":2}`)
	d.wants("UPDATE t SET ok = false", `{"count":3}`)
	d.wants("DELETE FROM t WHERE name IS NULL", `{"count":1}`)
	d.wants("SELECT id, name, v, ok FROM t ORDER BY id", `{"id":1,"name":"a!","ok":false,"v":[1,2]} {"id":3,"name":"C!","ok":false,"v":[3,2]}`)

	d.wants("INSERT INTO t (id, name) SELECT id + 10, name FROM t", `{"count":2}`)
	d.wants("SELECT id, name FROM t ORDER BY id", `{"id":1,"name":"a!"} {"id":3,"name":"C!"} {"id":11,"name":"a!"} {"id":13,"name":"C!"}`)
	d.wants("CREATE TABLE u AS SELECT id, name FROM t WHERE id > 10", `{"count":2}`)
	d.wants("CREATE TABLE IF NOT EXISTS u AS SELECT id FROM t", `{"count":0}`)
	d.wants("SELECT * FROM u ORDER BY id", `{"id":11,"name":"a!"} {"id":13,"name":"C!"}`)
	d.wants("CREATE OR REPLACE TABLE u AS SELECT id FROM t WHERE id = 1", `{"count":1}`)
	d.wants("SELECT * FROM u", `{"id":1}`)
	d.wants("INSERT OVERWRITE u VALUES (7)", `{"count":1}`)
	d.wants("SELECT * FROM u", `{"id":7}`)

	rows, err := d.run("INSERT INTO t (id, name, v) VALUES ($id, $name, $v)", `{"parameters": {"id": 20, "name": "x'); DROP TABLE t; --", "v": [1, 2]}}`)
	if err != nil || strings.TrimSpace(servicetest.Lines(t, rows)) != `{"count":1}` {
		t.Errorf("got %v", err)
	}
	d.wants("SELECT name, v FROM t WHERE id = 20", `{"name":"x'); DROP TABLE t; --","v":[1,2]}`)
	if _, err = d.run("INSERT INTO t (id) SELECT id FROM t WHERE id = $id", `{"parameters": {"id": 20}}`); err != nil {
		t.Error(err)
	}
}

func TestCommandsChangeTables(t *testing.T) {
	d := open(t)
	d.wants("CREATE NAMESPACE a", `{"status":"created namespace a"}`)
	d.does("CREATE SCHEMA IF NOT EXISTS a", "CREATE NAMESPACE a.b", `CREATE TABLE a."T x" (id int, f float)`, `INSERT INTO a."T x" VALUES (1, 2)`)
	d.wants("SHOW NAMESPACES", `{"name":"a"}`)
	d.wants("SHOW SCHEMAS IN a", `{"name":"b"}`)
	d.wants("SHOW TABLES IN a", `{"name":"T x"}`)
	d.wants("SHOW TABLES", ``)
	d.wants(`DESCRIBE a."T x"`, `{"column_name":"id","data_type":"int32","is_nullable":"YES"} {"column_name":"f","data_type":"float32","is_nullable":"YES"}`)

	d.wants(`ALTER TABLE a."T x" RENAME TO t`, `{"status":"renamed table a.\"T x\" to a.t"}`)
	d.wants("ALTER TABLE a.t ADD COLUMN v VECTOR(3), n text", `{"status":"altered table a.t"}`)
	d.does("ALTER TABLE a.t RENAME COLUMN n TO note", "ALTER TABLE a.t ALTER COLUMN id TYPE bigint", "ALTER TABLE a.t ALTER COLUMN id SET NOT NULL", "ALTER TABLE a.t DROP COLUMN f")
	d.wants("SHOW COLUMNS FROM a.t", `{"column_name":"id","data_type":"int64","is_nullable":"NO"} {"column_name":"v","data_type":"fixed_size_list\u003cfloat32\u003e[3]","is_nullable":"YES"} {"column_name":"note","data_type":"utf8","is_nullable":"YES"}`)
	d.does("ALTER TABLE a.t ALTER id DROP NOT NULL", "ALTER TABLE a.t ADD twice GENERATED ALWAYS AS (id * 2)")

	d.wants("CREATE TAG first ON a.t VERSION AS OF 2", `{"status":"created tag first of a.t"}`)
	d.wants("SHOW TAGS a.t", `{"branch":"","name":"first","version":2}`)
	d.does("DROP TAG first ON a.t", "CREATE BRANCH trial ON a.t", "INSERT INTO a.t BRANCH 'trial' (id) VALUES (9)", "CREATE TAG 'of-trial' ON a.t VERSION AS OF 10 BRANCH 'trial'", "INSERT INTO a.t BRANCH 'trial' (id) VALUES (10)")
	d.wants("SELECT id FROM a.t TAG 'of-trial' ORDER BY id", `{"id":1} {"id":9}`)
	d.wants("SELECT old.id, new.id AS other FROM a.t TAG 'of-trial' AS old RIGHT JOIN a.t BRANCH 'trial' AS new USING (id) ORDER BY 2", `{"id":1,"other":1} {"id":9,"other":9} {"id":null,"other":10}`)
	d.refuses("SELECT id FROM a.t TAG 'nope'", protocol.TableTagNotFound, "nope")
	d.refuses("SELECT count(*) AS n FROM a.t TAG 'nope', a.t AS u", protocol.TableTagNotFound, "nope")
	d.does("DROP TAG 'of-trial' ON a.t", "DELETE FROM a.t BRANCH 'trial' WHERE id = 10")
	if got := d.does("SHOW BRANCHES a.t"); !strings.Contains(got, `"name":"trial"`) {
		t.Errorf("got %s", got)
	}
	d.wants("SELECT count(*) AS n FROM a.t BRANCH 'trial'", `{"n":2}`)
	d.wants("SELECT count(*) AS n FROM a.t", `{"n":1}`)
	d.wants("DROP BRANCH trial ON a.t", `{"status":"dropped branch trial of a.t"}`)
	if got := d.does("SHOW VERSIONS a.t LIMIT 1"); !strings.Contains(got, `"timestamp":"20`) {
		t.Errorf("got %s", got)
	}
	for _, text := range []string{"CREATE INDEX ids ON a.t USING btree (id)", "OPTIMIZE TABLE a.t"} {
		if got := d.does(text); !strings.HasPrefix(got, `{"job_id":"`) {
			t.Errorf("%s: got %s", text, got)
		}
	}
	d.wants("SHOW INDEXES FROM a.t", ``)
	d.wants("CREATE VIEW a.w AS SELECT id FROM t", `{"status":"created view a.w"}`)
	d.wants("SHOW VIEWS IN a", `{"name":"w"}`)
	d.wants("DESCRIBE a.w", `{"column_name":"id","data_type":"int64","is_nullable":"YES"}`)
	d.wants("DROP VIEW a.w", `{"status":"dropped view a.w"}`)
	d.refuses("DROP NAMESPACE a", protocol.NamespaceNotEmpty, "a")
	d.wants("DROP TABLE a.t", `{"status":"dropped table a.t"}`)
	d.wants("DROP TABLE IF EXISTS a.t", `{"status":"there is no table a.t"}`)
	d.wants("DROP SCHEMA a CASCADE", `{"status":"dropped namespace a"}`)
	d.wants("DROP NAMESPACE IF EXISTS a", `{"status":"there is no namespace a"}`)
}

func TestCommandsThatCannotRunNameTheMistake(t *testing.T) {
	d := open(t)
	d.does("CREATE TABLE t (id bigint NOT NULL, v VECTOR(2))", "CREATE TABLE u (name text)", "INSERT INTO u VALUES ('x')")
	for _, c := range []struct {
		text string
		code protocol.Code
		want string
	}{
		{"BEGIN", protocol.Unsupported, "atomic commit"},
		{"DELETE FROM nope WHERE true", protocol.TableNotFound, "nope"},
		{"DELETE FROM t WHERE nope", protocol.InvalidInput, "nope"},
		{"DELETE FROM t", protocol.InvalidInput, "byte 13"},
		{"UPDATE t SET nope = 1", protocol.InvalidInput, "nope"},
		{"UPDATE t SET id = 1, id = 2", protocol.InvalidInput, "twice"},
		{"INSERT INTO t VALUES (1)", protocol.InvalidInput, "byte 14: the rows have 1 columns, and the table has 2"},
		{"INSERT INTO t (id, nope) VALUES (1, 2)", protocol.TableColumnNotFound, "nope"},
		{"INSERT INTO t (id, id) VALUES (1, 2)", protocol.InvalidInput, "twice"},
		{"INSERT INTO t (id) VALUES ('a')", protocol.InvalidInput, `at byte 27: "a" is not`},
		{"INSERT INTO t (id) VALUES (NULL)", protocol.TableSchemaValidationError, "id"},
		{"INSERT INTO t (id) VALUES (id)", protocol.InvalidInput, "id"},
		{"INSERT INTO t (v) VALUES ([1, 2, 3])", protocol.InvalidInput, "3"},
		{"INSERT INTO t (id) SELECT name FROM u", protocol.InvalidInput, "x"},
		{"INSERT INTO t (v) SELECT name FROM u", protocol.InvalidInput, "column name of the query is utf8"},
		{"INSERT INTO t (id) SELECT nope FROM u", protocol.TableColumnNotFound, "nope"},
		{"INSERT INTO t (id) SELECT name WHERE FROM u", protocol.InvalidInput, `byte 42`},
		{"INSERT INTO nope VALUES (1)", protocol.TableNotFound, "nope"},
		{"CREATE TABLE t (id int)", protocol.TableAlreadyExists, "t"},
		{"CREATE TABLE x (id int, id int)", protocol.InvalidInput, "byte 24: column \"id\" is defined twice"},
		{"CREATE TABLE x (id decimal(99,1))", protocol.Unsupported, "byte 19: type decimal(99, 1)"},
		{"CREATE TABLE a.b (id int)", protocol.NamespaceNotFound, "a"},
		{"CREATE INDEX i ON t USING tree (id)", protocol.InvalidInput, "index_type"},
		{"CREATE INDEX i ON t USING btree (id) WITH (speed = 1)", protocol.Unsupported, "option speed = 1"},
		{"CREATE INDEX i ON t USING btree (id) WITH (column = 'v')", protocol.Unsupported, "option column"},
		{"CREATE TAG a ON t VERSION AS OF 99", protocol.TableVersionNotFound, "99"},
		{"DROP INDEX i ON t", protocol.TableIndexNotFound, "i"},
		{"DROP TAG i ON t", protocol.TableTagNotFound, "i"},
		{"DROP BRANCH i ON t", protocol.TableBranchNotFound, "i"},
		{"ALTER TABLE t DROP COLUMN nope", protocol.TableColumnNotFound, "nope"},
		{"ALTER TABLE t ALTER COLUMN id TYPE VECTOR(2)", protocol.InvalidInput, "id"},
		{"SHOW TABLES IN nope", protocol.NamespaceNotFound, "nope"},
		{`DROP TABLE "a$b"`, protocol.InvalidInput, "contains"},
	} {
		d.refuses(c.text, c.code, c.want)
	}
	d.wants("SELECT count(*) AS n FROM t", `{"n":0}`)
}
