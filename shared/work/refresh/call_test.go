package refresh_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/engine/udf"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/storage/objectstore/memstore"
)

// These stand for queries of views whose rows a function makes: of each row of the source, and of all rows.
const (
	ofEach = "a chunker"
	ofAll  = "a table function"
)

// byFunction is the request for the view v whose rows a function makes of those of s with id > 3.
func byFunction(kind string) *viewapi.CreateMaterializedRequest {
	k, columns := viewapi.KindChunker, []arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}
	if kind == ofAll {
		k, columns = viewapi.KindUDTF, columns[:1]
	}
	var schema bytes.Buffer
	if err := arrowipc.NewStreamWriter(&schema, arrow.NewSchema(columns, nil), arrowipc.Uncompressed).Close(); err != nil {
		panic(err)
	}
	text := base64.StdEncoding.EncodeToString([]byte(`{"backend":"fake"}`))
	sum := sha256.Sum256([]byte(text))
	withData := false
	return &viewapi.CreateMaterializedRequest{
		Common: protocol.Common{ID: []string{"v"}}, Kind: k, WithNoData: &withData,
		SourceQuery:  `{"source_table":"s","base":{"columns":["id"],"filter":"id > 3"}}`,
		OutputSchema: base64.StdEncoding.EncodeToString(schema.Bytes()),
		UDTF:         &viewapi.UDTFSpec{UDTF: text, SHA: hex.EncodeToString(sum[:]), Name: "f", Version: "1", InputColumns: []string{"id"}},
	}
}

// fake is a runtime whose functions return their input, in one row for each.
type fake struct{ shape udf.Shape }

func (fake) Open(_ context.Context, s udf.Spec) (udf.Caller, error) {
	return fake{s.Shape}, nil
}

func (fake) Close() error { return nil }

func (f fake) Call(_ context.Context, in arrow.RecordBatch) (udf.Result, error) {
	s := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	result := udf.Result{Outputs: array.NewRecordBatch(s, in.Columns()[:1], in.NumRows())}
	if f.shape == udf.ManyRows {
		for i := range int32(in.NumRows()) {
			result.Parents = append(result.Parents, i)
		}
	}
	return result, nil
}

// A refresh by workers without a runtime for the function fails and names the backend; the rows stay.
func TestFunctionsThatCannotRunKeepRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memstore.New()
		p := open(t, inner)
		p.source(t, true)
		id := must[string](t)(p.create(t.Context(), ofAll))
		p.serve(t)
		p.done(t, id)
		p.alter(t)
		id = p.refresh(t, viewapi.RefreshRequest{})
		other := openWithout(t, inner)
		other.Jobs.Queue, other.worker.Queue = p.Jobs.Queue, p.Jobs.Queue
		other.serve(t)
		made, err := p.Transactions.Job(t.Context(), transaction.Unit{Job: id})
		if err != nil || made.Status != transactionapi.Failed || !strings.Contains(made.Failure, `backend "fake"`) {
			t.Errorf("the job is %v: %s, %v", made.Status, made.Failure, err)
		}
		if got := open(t, inner).ids(t, "v"); !cmp.Equal(got, []int64{4, 5, 6, 7, 8, 9}) {
			t.Errorf("rows are %v", got)
		}
	})
}

// A refresh with a limit keeps the rows that the lowest ids of the source give, which an update has moved.
func TestOutputLimitKeepsTheLowestIDs(t *testing.T) {
	for limit, want := range map[int64][]int64{1: {102}, 4: {4, 5, 6, 102}, 5: {4, 5, 6, 102, 108}, 9: altered, 50: altered} {
		synctest.Test(t, func(t *testing.T) {
			p := open(t, memstore.New())
			p.source(t, true)
			p.alter(t)
			must[string](t)(p.create(t.Context(), ofEach))
			id := p.refresh(t, viewapi.RefreshRequest{OutputLimit: &limit})
			p.serve(t)
			p.done(t, id)
			if got := p.ids(t, "v"); !cmp.Equal(got, want) {
				t.Errorf("limit %d: rows are %v, want %v", limit, got, want)
			}
		})
	}
}
