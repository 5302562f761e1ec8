package all_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	catalogstored "tiltyard/shared/catalog/stored"
	"tiltyard/shared/engine"
	"tiltyard/shared/engine/computed"
	"tiltyard/shared/engine/evolution"
	"tiltyard/shared/jobs"
	"tiltyard/shared/jobs/memqueue"
	"tiltyard/shared/lance/dataset"
	budget "tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record/objectrecord"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/backfill"
	"tiltyard/shared/work/udfcall"
)

// beside is another process over the stores of a server, without its policies.
func (s *limited) beside() tables.Tables {
	s.t.Helper()
	roots, err := objectstore.NewRoots(objectstore.Root{URI: "memory://test", Store: s.store})
	if err != nil {
		s.t.Fatal(err)
	}
	return tables.Open(tables.Stores{Objects: roots, Now: time.Now, Records: objectrecord.Open(s.store, time.Now), Queue: new(memqueue.Queue)})
}

// register makes a function of a number, n + 1, that is given secrets.
func (s *limited) register(in tables.Tables, id []string, secrets ...functionapi.SecretBinding) schemaapi.FunctionReference {
	s.t.Helper()
	content := []byte("n + 1")
	no := false
	d := functionapi.Definition{
		Artifact: functionapi.Artifact{Kind: "sql_expression", Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(content))},
		Signature: functionapi.Signature{
			Inputs: protocol.List[functionapi.Field]{{Name: "n", ArrowType: "int64", Nullable: true}},
			Output: functionapi.Output{Kind: functionapi.ScalarOutput, ArrowType: "int64", Nullable: &no},
		},
		Runtime: json.RawMessage(`{"kind":"sql"}`), SecretBindings: secrets,
	}
	artifact, err := in.Names.Functions.PutArtifact(s.t.Context(), d.Artifact.Digest, content)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		s.t.Fatal(err)
	}
	record, _, err := in.Names.Functions.Add(s.t.Context(), id, catalogstored.FunctionVersion{Digest: "digest", Definition: text, Artifact: artifact, Proved: true})
	if err != nil {
		s.t.Fatal(err)
	}
	last := len(id) - 1
	return schemaapi.FunctionReference{Name: id[last], Namespace: id[:last], ObjectID: record.UID, Location: "function:" + record.UID, Version: "1", ManifestDigest: "digest"}
}

// declare makes a table with a row and a column r that a function computes, as a writer that the service
// does not know of may.
func (s *limited) declare(in tables.Tables, id []string, ref schemaapi.FunctionReference) {
	s.t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[{"n":1}]`))
	if err != nil {
		s.t.Fatal(err)
	}
	location := in.Names.Places.New(id)
	table := in.Rows.Table(id, location)
	if _, err := table.Create(s.t.Context(), dataset.Rows{Schema: schema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(batch, nil) }}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := in.Names.CreateTable(s.t.Context(), id, location, 1, nil); err != nil {
		s.t.Fatal(err)
	}
	s.bind(in, id, ref)
}

// bind adds a column r that a function computes.
func (s *limited) bind(in tables.Tables, id []string, ref schemaapi.FunctionReference) {
	s.t.Helper()
	no := false
	use := computed.Use{
		Signature: functionapi.Signature{
			Inputs: protocol.List[functionapi.Field]{{Name: "n", ArrowType: "int64", Nullable: true}},
			Output: functionapi.Output{Kind: functionapi.ScalarOutput, ArrowType: "int64", Nullable: &no},
		},
		Binding: schemaapi.FunctionBinding{
			ID: "fb_" + ref.Name, Function: ref,
			InputSchema:  []byte(`{"fields":[{"name":"n","nullable":true,"type":{"type":"int64"}}]}`),
			OutputSchema: []byte(`{"fields":[{"name":"r","nullable":true,"type":{"type":"int64"}}]}`),
			Inputs:       []schemaapi.InputBinding{{Parameter: "n", FieldPath: "n", ArrowType: "int64", Nullable: true}},
			Outputs:      []schemaapi.OutputMapping{{ResultField: schemaapi.WholeResult, OutputName: "r"}},
		},
	}
	if _, err := in.Open(id, "").Commit(s.t.Context(), func(t tables.Table) (engine.Written, error) {
		return evolution.AddFunctionColumns(s.t.Context(), t.Table, use)
	}); err != nil {
		s.t.Fatal(err)
	}
}

// The metadata of a table may name each function. Only one who may use the function, and give it its
// secrets, begins a job that calls it.
func TestBackfillUsesNoFunctionForbiddenToItsCaller(t *testing.T) {
	s := serveLimited(t)
	s.populate()
	s.populateSecrets()
	in := s.beside()
	bound := func(name string) functionapi.SecretBinding {
		return functionapi.SecretBinding{Kind: "env", Variable: "KEY", Secret: functionapi.SecretReference{Name: name, Namespace: []string{"oak"}}}
	}
	gone := s.register(in, []string{"oak", "gone"})
	if err := in.Names.Functions.Drop(t.Context(), []string{"oak", "gone"}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		table  string
		ref    schemaapi.FunctionReference
		status int
		says   string
	}{
		{"open", s.register(in, []string{"oak", "open"}), http.StatusAccepted, "job_id"},
		{"seen", s.register(in, []string{"oak", "seen"}, bound("t")), http.StatusAccepted, "job_id"},
		{"gone", gone, http.StatusBadRequest, "function oak$gone does not exist"},
		{"hidden", s.register(in, []string{"oak", "secret"}), http.StatusBadRequest, "function oak$secret does not exist"},
		{"elsewhere", s.register(in, []string{"elm", "f"}), http.StatusBadRequest, "function elm$f does not exist"},
		{"armed", s.register(in, []string{"oak", "armed"}, bound("secret")), http.StatusBadRequest, "does not exist"},
	} {
		s.declare(in, []string{"oak", test.table}, test.ref)
		path := "/v1/table/oak$" + test.table + "/backfill_column"
		if status, answer := s.as("writers", http.MethodPost, path, `{"column":"r"}`); status != test.status || !strings.Contains(answer, test.says) {
			t.Errorf("%s: got %d %s, want %d with %q", test.table, status, answer, test.status, test.says)
		}
		if status, answer := s.as("admins", http.MethodPost, path, `{"column":"r"}`); test.table != "gone" && status != http.StatusAccepted {
			t.Errorf("%s by one who may: %d %s", test.table, status, answer)
		}
	}
}

// A worker calls the function that was looked at when the job began, and no other one that the column gets
// before the job runs.
func TestBackfillCallsOnlyTheFunctionItWasBegunFor(t *testing.T) {
	s := serveLimited(t)
	s.populate()
	in := s.beside()
	worker := jobs.Worker{
		Starter: *in.Jobs, Now: time.Now, Name: func() string { return "w" }, Logger: slog.New(slog.DiscardHandler), Memory: budget.NewBudget(1<<30, 1<<30),
		Kinds: map[string]jobs.Kind{backfill.Kind: backfill.Fill(in, udfcall.Directory{Names: in.Names}, backfill.PartSizes)},
	}
	id := []string{"oak", "changed"}
	s.declare(in, id, s.register(in, []string{"oak", "one"}))
	var begun struct {
		ID string `json:"job_id"`
	}
	if status, answer := s.as("writers", http.MethodPost, "/v1/table/oak$changed/backfill_column", `{"column":"r"}`); status != http.StatusAccepted || json.Unmarshal([]byte(answer), &begun) != nil {
		t.Fatalf("got %d %s", status, answer)
	}
	if _, err := in.Open(id, "").Commit(t.Context(), func(table tables.Table) (engine.Written, error) {
		return evolution.DropColumns(t.Context(), table.Table, []string{"r"})
	}); err != nil {
		t.Fatal(err)
	}
	s.bind(in, id, s.register(in, []string{"oak", "secret"}))
	if err := worker.Do(t.Context(), jobs.Message{Job: begun.ID}); err != nil {
		t.Fatal(err)
	}
	if told := s.must("writers", "/v1/transaction/"+begun.ID+"/describe", "{}"); !strings.Contains(told, "has got another function since the job has begun") {
		t.Errorf("the job is %s", told)
	}
}
