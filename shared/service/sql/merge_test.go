package sql_test

import (
	"testing"

	"tiltyard/shared/protocol"
)

func TestMergeDoesWhatItsClausesSay(t *testing.T) {
	for _, c := range []struct{ text, count, want string }{
		{"MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *", "1", `{"id":1,"n":10,"name":"a"} {"id":2,"n":200,"name":"B"}`},
		{"MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *", "1", `{"id":1,"n":10,"name":"a"} {"id":2,"n":20,"name":"b"} {"id":3,"n":300,"name":"C"}`},
		{"MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN DELETE", "3", `{"id":2,"n":200,"name":"B"} {"id":3,"n":300,"name":"C"}`},
		{"MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED BY SOURCE THEN DELETE", "1", `{"id":2,"n":20,"name":"b"}`},
		{"MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED BY SOURCE AND t.n > 10 AND name = 'a' THEN DELETE", "0", `{"id":1,"n":10,"name":"a"} {"id":2,"n":20,"name":"b"}`},
		{"MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n + 1", "1", `{"id":1,"n":10,"name":"a"} {"id":2,"n":201,"name":"b"}`},
		{"MERGE INTO t AS x USING s AS y ON y.id = x.id WHEN MATCHED AND x.n < y.n AND y.name = 'B' THEN UPDATE SET *", "1", `{"id":1,"n":10,"name":"a"} {"id":2,"n":200,"name":"B"}`},
		{"MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND t.n > s.n THEN UPDATE SET *", "0", `{"id":1,"n":10,"name":"a"} {"id":2,"n":20,"name":"b"}`},
		{"MERGE INTO t USING s ON t.id = s.id WHEN MATCHED AND s.n = 200 AND s.id = t.id THEN UPDATE SET n = s.n", "1", `{"id":1,"n":10,"name":"a"} {"id":2,"n":200,"name":"b"}`},
		{"MERGE INTO t USING s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (name, id) VALUES (upper(s.name) || '!', s.id)", "1", `{"id":1,"n":10,"name":"a"} {"id":2,"n":20,"name":"b"} {"id":3,"n":null,"name":"C!"}`},
		{"MERGE INTO t USING (SELECT CAST(id AS double) AS k, max(n) AS m FROM s GROUP BY id) AS s ON t.id = s.k WHEN MATCHED THEN UPDATE SET n = s.m, name = 'x' WHEN NOT MATCHED THEN INSERT VALUES (s.k, 'x', s.m)", "2",
			`{"id":1,"n":10,"name":"a"} {"id":2,"n":200,"name":"x"} {"id":3,"n":300,"name":"x"}`},
		{"MERGE INTO t USING (VALUES (1, 'z')) AS v (id, name) ON t.id = v.id WHEN MATCHED THEN UPDATE SET t.name = v.name", "1", `{"id":1,"n":10,"name":"z"} {"id":2,"n":20,"name":"b"}`},
		{"MERGE INTO t USING s ON t.id = s.id AND t.name = s.name WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *", "2",
			`{"id":1,"n":10,"name":"a"} {"id":2,"n":20,"name":"b"} {"id":2,"n":200,"name":"B"} {"id":3,"n":300,"name":"C"}`},
	} {
		d := open(t)
		d.does("CREATE TABLE t (id bigint, name text, n int)", "INSERT INTO t VALUES (1, 'a', 10), (2, 'b', 20)", "CREATE TABLE s (id bigint, name text, n bigint)", "INSERT INTO s VALUES (2, 'B', 200), (3, 'C', 300)")
		d.wants(c.text, `{"count":`+c.count+`}`)
		if got := d.does("SELECT * FROM t ORDER BY id, n"); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestMergeRefusesByNameWhatItsOperationCannotDo(t *testing.T) {
	d := open(t)
	d.does("CREATE NAMESPACE n", "CREATE TABLE t (id bigint, name text, n int)", "CREATE TABLE s (id bigint, name text, n bigint)", "CREATE TABLE n.t (id bigint)", "INSERT INTO t VALUES (1, 'a', 1)", "INSERT INTO s VALUES (1, 'b', 2), (1, 'c', 3)")
	const begin = "MERGE INTO t USING s ON t.id = s.id "
	for text, want := range map[string]struct {
		code protocol.Code
		text string
	}{
		begin + "WHEN MATCHED THEN DELETE":                                                                           {protocol.Unsupported, "write DELETE FROM table"},
		begin + "WHEN NOT MATCHED AND s.n > 1 THEN INSERT *":                                                         {protocol.Unsupported, "put the condition into USING"},
		begin + "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = 1":                                                   {protocol.Unsupported, "write UPDATE table SET"},
		begin + "WHEN MATCHED AND t.n = 1 THEN UPDATE SET n = s.n WHEN MATCHED THEN UPDATE SET *":                    {protocol.Unsupported, "WHEN MATCHED twice"},
		begin + "WHEN MATCHED THEN UPDATE SET n = t.n + s.n":                                                         {protocol.Unsupported, "column t.n of the table"},
		begin + "WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name)": {protocol.Unsupported, "different columns or values"},
		begin + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)":                     {protocol.Unsupported, "different columns or values"},
		begin + "WHEN MATCHED THEN UPDATE SET id = s.n":                                                              {protocol.Unsupported, "another value than s.id for the key id"},
		begin + "WHEN NOT MATCHED THEN INSERT (name) VALUES (s.name)":                                                {protocol.Unsupported, "INSERT without the columns of ON"},
		begin + "WHEN NOT MATCHED THEN INSERT VALUES (s.id)":                                                         {protocol.InvalidInput, "1 values, and the table has 3 columns"},
		begin + "WHEN MATCHED AND s.name = 'x' THEN UPDATE SET n = s.n":                                              {protocol.Unsupported, "s.name, which is not set"},
		begin + "WHEN MATCHED AND name = 'x' THEN UPDATE SET *":                                                      {protocol.InvalidInput, "write t. or s. before it"},
		begin + "WHEN NOT MATCHED BY SOURCE AND s.n = 1 THEN DELETE":                                                 {protocol.InvalidInput, "no row of the source"},
		begin + "WHEN MATCHED THEN UPDATE SET nope = s.n":                                                            {protocol.TableColumnNotFound, "nope"},
		begin + "WHEN MATCHED THEN UPDATE SET n = s.nope":                                                            {protocol.TableColumnNotFound, "nope"},
		begin + "WHEN MATCHED THEN UPDATE SET n = 1, n = 2":                                                          {protocol.InvalidInput, "set twice"},
		begin + "WHEN MATCHED THEN UPDATE SET *":                                                                     {protocol.InvalidInput, "ambiguous"},
		"MERGE INTO t USING s ON t.id > s.id WHEN MATCHED THEN UPDATE SET *":                                         {protocol.Unsupported, "finds rows by t.column = s.column"},
		"MERGE INTO t USING s ON t.id = s.id OR t.n = s.n WHEN MATCHED THEN UPDATE SET *":                            {protocol.Unsupported, "finds rows by"},
		"MERGE INTO t USING s ON id = id WHEN MATCHED THEN UPDATE SET *":                                             {protocol.Unsupported, "finds rows by"},
		"MERGE INTO t USING s ON t.id = s.n WHEN MATCHED THEN UPDATE SET *":                                          {protocol.Unsupported, "* with the key s.n"},
		"MERGE INTO t USING n.t ON t.id = n.t.id WHEN MATCHED THEN UPDATE SET *":                                     {protocol.InvalidInput, "both called t"},
		"MERGE INTO t USING nope ON t.id = nope.id WHEN MATCHED THEN UPDATE SET *":                                   {protocol.TableNotFound, "nope"},
		"MERGE INTO nope USING s ON nope.id = s.id WHEN MATCHED THEN UPDATE SET *":                                   {protocol.TableNotFound, "nope"},
	} {
		d.refuses(text, want.code, want.text)
	}
	d.wants("SELECT * FROM t", `{"id":1,"n":1,"name":"a"}`)
}
