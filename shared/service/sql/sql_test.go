package sql_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/service/servicetest"
	"tiltyard/shared/service/sql"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/memstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
)

// A desk runs statements over tables in memory. Jobs begin, and no worker runs them.
type desk struct {
	*testing.T
	service *sql.Service
	ctx     context.Context
}

func open(t *testing.T) *desk {
	t.Helper()
	objects := memstore.New()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: servicetest.Root, Store: objects})
	if err != nil {
		t.Fatal(err)
	}
	opened := tables.Open(tables.Stores{
		Objects: roots, Records: objectrecord.Open(objects, time.Now), Now: time.Now, Queue: new(memqueue.Queue), CacheBytes: 1 << 20,
	})
	return &desk{t, sql.New(opened, maintain.Open(opened, time.Minute), arrowipc.Limits{}), auth.NewContext(t.Context(), &auth.Principal{Subject: "ada", Scopes: []string{auth.ScopeRead, auth.ScopeWrite}})}
}

// run runs a statement, with parameters and a namespace from a JSON object.
func (d *desk) run(text, with string) (*protocol.Rows, error) {
	d.Helper()
	req := new(queryapi.StatementRequest)
	if with != "" {
		if err := json.Unmarshal([]byte(with), req); err != nil {
			d.Fatal(err)
		}
	}
	req.Query = text
	if err := req.Validate(); err != nil {
		return nil, err
	}
	return d.service.Execute(d.ctx, req)
}

// does runs statements that must succeed, and returns the rows of the last one on one line.
func (d *desk) does(texts ...string) string {
	d.Helper()
	answer := ""
	for _, text := range texts {
		rows, err := d.run(text, "")
		if err != nil {
			d.Fatalf("%s: %v", text, err)
		}
		answer = strings.ReplaceAll(strings.TrimSpace(servicetest.Lines(d.T, rows)), "\n", " ")
	}
	return answer
}

// wants compares the answer of a statement.
func (d *desk) wants(text, want string) {
	d.Helper()
	if got := d.does(text); got != want {
		d.Errorf("%s\n got %s\nwant %s", text, got, want)
	}
}

// refuses wants an error of a statement.
func (d *desk) refuses(text string, code protocol.Code, want string) {
	d.Helper()
	rows, err := d.run(text, "")
	if err == nil {
		d.Errorf("%s: got %s, want an error", text, servicetest.Lines(d.T, rows))
		return
	}
	servicetest.WantCode(d.T, text, err, code)
	if !strings.Contains(err.Error(), want) {
		d.Errorf("%s: got %v, want %q in it", text, err, want)
	}
}

func TestCommandsAboutMaterializedViews(t *testing.T) {
	d := open(t)
	d.does("CREATE NAMESPACE team", "CREATE TABLE team.people (id bigint, age int)", "INSERT INTO team.people VALUES (1, 20), (2, 10)")
	for _, text := range []string{
		`CREATE MATERIALIZED VIEW "adults" AS SELECT id FROM people WHERE age > 17`,
		`CREATE MATERIALIZED VIEW "b'c" WITH (auto_refresh_enabled = true) AS SELECT * FROM people`,
		`CREATE MATERIALIZED VIEW "every" WITH (auto_refresh_interval_seconds = 0.5) AS SELECT id FROM people`,
		`CREATE MATERIALIZED VIEW "z" WITH (auto_refresh_enabled = false, auto_refresh_interval_seconds = 0.5) AS SELECT id FROM "team"."people"`,
		`REFRESH MATERIALIZED VIEW "adults"`, `REFRESH MATERIALIZED VIEW "adults" WITH (full = true)`,
	} {
		rows, err := d.run(text, `{"namespace_id": ["team"]}`)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := servicetest.Lines(t, rows); !strings.HasPrefix(got, `{"job_id":"`) || len(got) < 20 {
			t.Errorf("%s: got %s, want the id of a job", text, got)
		}
	}
	for text, want := range map[string]string{
		`SHOW MATERIALIZED VIEWS LIMIT 2`:                     `{"name":"adults"} {"name":"b'c"}`,
		`SHOW MATERIALIZED VIEWS WHERE name > 'b''c' LIMIT 3`: `{"name":"every"} {"name":"z"}`,
		`SHOW MATERIALIZED VIEWS IN team LIMIT 1`:             `{"name":"adults"}`,
	} {
		rows, err := d.run(text, `{"namespace_id": ["team"]}`)
		if strings.Contains(text, " IN ") {
			rows, err = d.run(text, "")
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := strings.ReplaceAll(strings.TrimSpace(servicetest.Lines(t, rows)), "\n", " "); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	rows, err := d.run(`DESCRIBE MATERIALIZED VIEW "adults"`, `{"namespace_id": ["team"]}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := servicetest.Lines(t, rows); !strings.Contains(got, `"query":"SELECT id FROM team.people WHERE age \u003e 17"`) {
		t.Errorf("got %s", got)
	}
	d.wants("DROP MATERIALIZED VIEW team.z", `{"status":"dropped materialized view team.z"}`)
	d.wants("DROP MATERIALIZED VIEW IF EXISTS team.z", `{"status":"there is no materialized view team.z"}`)
	d.refuses("DROP MATERIALIZED VIEW team.z", protocol.TableNotFound, "z")
	d.refuses("REFRESH MATERIALIZED VIEW team.adults WITH (fast = true)", protocol.Unsupported, "option fast")
	d.refuses("CREATE MATERIALIZED VIEW x WITH (auto_refresh_enabled = 1) AS SELECT 1", protocol.InvalidInput, "true or false")
	d.refuses("CREATE MATERIALIZED VIEW x AS SELECT id FROM nope", protocol.TableNotFound, "nope")
	d.refuses("CREATE MATERIALIZED VIEW x AS SELECT id FORM nope", protocol.InvalidInput, "at byte 40")
}
