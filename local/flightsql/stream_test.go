package flightsql

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A spring is a handler that answers each request with batches of 1 MiB.
type spring struct {
	batches int // 0: without end
	broken  bool
	written atomic.Int64 // batches so far
	ended   chan struct{}
}

func (s *spring) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/sql" {
		_, _ = w.Write([]byte("{}"))
		return
	}
	defer func() { s.ended <- struct{}{} }()
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(make([]int64, 1<<17), nil)
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 1<<17)
	writer := ipc.NewWriter(w, ipc.WithSchema(schema))
	for i := 0; s.batches == 0 || i < s.batches; i++ {
		if writer.Write(batch) != nil {
			return
		}
		s.written.Add(1)
	}
	if s.broken {
		panic(http.ErrAbortHandler)
	}
	_ = writer.Close()
}

func ticketOf(t *testing.T, id string) *flight.Ticket {
	ticket, err := (&statement{Query: "SELECT 1", ID: id}).ticket()
	if err != nil {
		t.Fatal(err)
	}
	return &flight.Ticket{Ticket: ticket}
}

// The handler writes only as fast as the client reads, so that an answer of any size needs little memory.
func TestRowsAreNotReadAhead(t *testing.T) {
	source := &spring{batches: 100, ended: make(chan struct{}, 1)}
	c := connect(t, serve(t, source))
	rows, err := c.DoGet(t.Context(), ticketOf(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	const window = 20 // MiB that gRPC sends before the client reads, at most
	read := int64(0)
	for rows.Next() {
		if ahead := source.written.Load() - read; ahead > 2*window {
			t.Fatalf("after %d batches, %d more have been written", read, ahead)
		}
		read++
	}
	if rows.Err() != nil || read < 100 {
		t.Errorf("read %d batches, %v", read, rows.Err())
	}
}

// A client that stops to read does not keep the memory of rows for ever.
func TestStalledClientIsCutOff(t *testing.T) {
	source := &spring{ended: make(chan struct{}, 1)}
	c := connect(t, serveWith(t, Options{Handler: source, StallTimeout: 100 * time.Millisecond}))
	rows, err := c.DoGet(t.Context(), ticketOf(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	<-source.ended // although nobody has read
	for rows.Next() {
	}
	if status.Code(rows.Err()) != codes.DeadlineExceeded {
		t.Errorf("got %v", rows.Err())
	}
}

func TestRunningStatementIsCancelled(t *testing.T) {
	source := &spring{ended: make(chan struct{}, 1)}
	c := connect(t, serve(t, source))
	ticket := ticketOf(t, "some-id")
	rows, err := c.DoGet(t.Context(), ticket)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	if !rows.Next() {
		t.Fatal(rows.Err())
	}
	info := &flight.FlightInfo{Endpoint: []*flight.FlightEndpoint{{Ticket: ticket}}}
	if _, err := c.CancelFlightInfo(t.Context(), &flight.CancelFlightInfoRequest{Info: info}); err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
	}
	if status.Code(rows.Err()) != codes.Canceled {
		t.Errorf("got %v", rows.Err())
	}
	<-source.ended
}

func TestHandlerEndsWithItsClient(t *testing.T) {
	source := &spring{ended: make(chan struct{}, 1)}
	c := connect(t, serve(t, source))
	rows, err := c.DoGet(t.Context(), ticketOf(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	<-source.ended
}

func TestBrokenAnswerIsAnError(t *testing.T) {
	source := &spring{batches: 2, broken: true, ended: make(chan struct{}, 1)}
	c := connect(t, serve(t, source))
	rows, err := c.DoGet(t.Context(), ticketOf(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	for rows.Next() {
	}
	if status.Code(rows.Err()) != codes.Unavailable {
		t.Errorf("got %v", rows.Err())
	}
}

// Some clients refuse messages beyond 4 MiB.
func TestLargeBatchesAreCut(t *testing.T) {
	b := array.NewFixedSizeListBuilder(memory.DefaultAllocator, 1024, arrow.PrimitiveTypes.Float32)
	for range 5000 {
		b.Append(true)
		b.ValueBuilder().(*array.Float32Builder).AppendValues(make([]float32, 1024), nil)
	}
	vectors := b.NewArray()
	schema := arrow.NewSchema([]arrow.Field{{Name: "v", Type: vectors.DataType()}}, nil)
	out := new(pieces)
	writer := flight.NewRecordWriter(out, ipc.WithSchema(schema))
	if err := writePieces(writer, array.NewRecordBatch(schema, []arrow.Array{vectors}, 5000)); err != nil {
		t.Fatal(err)
	}
	if out.largest > 2<<20 || out.messages < 20 {
		t.Errorf("%d messages, the largest of %d bytes", out.messages, out.largest)
	}
}

type pieces struct{ messages, largest int }

func (p *pieces) Send(data *flight.FlightData) error {
	p.messages++
	p.largest = max(p.largest, len(data.DataBody))
	return nil
}
