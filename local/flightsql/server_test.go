package flightsql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/service/all/alltest"
)

// serve starts a server over a handler and returns its address.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	return serveWith(t, Options{Handler: handler})
}

func serveWith(t *testing.T, options Options) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- New(options).Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// connect returns a client of the server at an address.
func connect(t *testing.T, address string) *flightsql.Client {
	t.Helper()
	c, err := flightsql.NewClient(address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// signedIn is a context with the token of tests, and other metadata.
func signedIn(t *testing.T, more ...string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), append([]string{"authorization", "Bearer " + alltest.Token}, more...)...)
}

// open starts a server with the table docs of 5,000 rows in the root, the same in the namespaces shop and shop.old, and
// returns a client.
func open(t *testing.T) *flightsql.Client {
	t.Helper()
	var handler http.Handler
	rest, err := alltest.Serve(func(h http.Handler) http.Handler { handler = h; return h })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rest.Close)
	c, err := client.New(rest.URL, client.Options{Token: alltest.Token})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range [][]string{{"docs"}, {"shop", "docs"}, {"shop", "old", "docs"}} {
		if namespace := id[:len(id)-1]; len(namespace) > 0 {
			if _, err := c.CreateNamespace(t.Context(), &namespaceapi.CreateRequest{Common: client.ID(namespace...)}); err != nil {
				t.Fatal(err)
			}
		}
		source := client.Source{Schema: docSchema, Batches: func(yield func(arrow.RecordBatch, error) bool) { yield(docs(5000), nil) }}
		if _, err := c.CreateTable(t.Context(), &dataapi.CreateTableRequest{Common: client.ID(id...)}, source); err != nil {
			t.Fatal(err)
		}
	}
	return connect(t, serve(t, handler))
}

var docSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32), Nullable: true},
}, nil)

func docs(n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, docSchema)
	for i := range n {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append("text")
		vectors := b.Field(2).(*array.FixedSizeListBuilder)
		vectors.Append(true)
		vectors.ValueBuilder().(*array.Float32Builder).AppendValues([]float32{float32(i), 1}, nil)
	}
	return b.NewRecordBatch()
}

// ids reads all rows of a ticket and returns the values of the first column.
func ids(ctx context.Context, c *flightsql.Client, ticket *flight.Ticket) ([]int64, error) {
	rows, err := c.DoGet(ctx, ticket)
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	var all []int64
	for rows.Next() {
		all = append(all, rows.RecordBatch().Column(0).(*array.Int64).Int64Values()...)
	}
	return all, rows.Err()
}

// query runs a statement.
func query(ctx context.Context, c *flightsql.Client, text string) ([]int64, error) {
	info, err := c.Execute(ctx, text)
	if err != nil {
		return nil, err
	}
	return ids(ctx, c, info.Endpoint[0].Ticket)
}

func TestStatementReturnsRowsAndTheirSchema(t *testing.T) {
	c := open(t)
	info, err := c.Execute(signedIn(t), "SELECT id, vector FROM docs WHERE id >= 4990 ORDER BY id DESC")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := flight.DeserializeSchema(info.Schema, memory.DefaultAllocator)
	if err != nil || schema.NumFields() != 2 || schema.Field(1).Type.String() != "fixed_size_list<item: float32, nullable>[2]" {
		t.Errorf("got schema %v, %v", schema, err)
	}
	got, err := ids(signedIn(t), c, info.Endpoint[0].Ticket)
	if err != nil || len(got) != 10 || got[0] != 4999 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestStatementsFindTablesInNamespaces(t *testing.T) {
	c := open(t)
	cases := []struct{ query, namespace string }{
		{`SELECT id FROM docs LIMIT 2`, "public"},
		{`SELECT id FROM "docs" LIMIT 2`, "shop"},
		{`SELECT id FROM docs LIMIT 2`, "shop$old"},
		{`SELECT id FROM shop.docs LIMIT 2`, "shop$old"},
		{`SELECT id FROM "shop$old"."docs" LIMIT 2`, ""},
		{`SELECT id FROM shop.old.docs LIMIT 2`, ""},
	}
	for _, test := range cases {
		got, err := query(signedIn(t, "namespace-path", test.namespace), c, test.query)
		if err != nil || len(got) != 2 {
			t.Errorf("%s in %q: got %v, %v", test.query, test.namespace, got, err)
		}
	}
}

func TestErrorsHaveTheCodesOfTheirCauses(t *testing.T) {
	c := open(t)
	with := func(name, value string) context.Context {
		return metadata.AppendToOutgoingContext(t.Context(), name, value)
	}
	cases := map[string]struct {
		ctx   context.Context
		query string
		want  codes.Code
	}{
		"no credentials":    {t.Context(), "SELECT id FROM docs", codes.Unauthenticated},
		"wrong token":       {with("authorization", "Bearer no"), "SELECT id FROM docs", codes.Unauthenticated},
		"wrong key":         {with("x-api-key", "no"), "SELECT id FROM docs", codes.Unauthenticated},
		"key":               {with("x-api-key", alltest.Token), "SELECT id FROM docs", codes.OK},
		"unsigned change":   {t.Context(), "DELETE FROM docs", codes.Unauthenticated},
		"two credentials":   {signedIn(t, "authorization", "Bearer x"), "SELECT id FROM docs", codes.InvalidArgument},
		"no table":          {signedIn(t), "SELECT id FROM nothing", codes.NotFound},
		"no column":         {signedIn(t), "SELECT nothing FROM docs", codes.NotFound},
		"syntax":            {signedIn(t), "SELECT id FROM docs WHERE (", codes.InvalidArgument},
		"empty":             {signedIn(t), "", codes.InvalidArgument},
		"unsupported":       {signedIn(t), "SELECT id FROM docs EXCEPT ALL SELECT id FROM docs", codes.Unimplemented},
		"unknown parameter": {signedIn(t), "SELECT id FROM docs WHERE id = $x", codes.InvalidArgument},
	}
	for name, test := range cases {
		if _, err := query(test.ctx, c, test.query); status.Code(err) != test.want {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

func TestUnsupportedPartsAreRefusedByName(t *testing.T) {
	c, ctx := open(t), signedIn(t)
	_, transaction := c.BeginTransaction(ctx)
	_, substrait := c.ExecuteSubstrait(ctx, flightsql.SubstraitPlan{Plan: []byte("x")})
	reader, err := array.NewRecordReader(docSchema, []arrow.RecordBatch{docs(1)})
	if err != nil {
		t.Fatal(err)
	}
	_, ingest := c.ExecuteIngest(ctx, reader, &flightsql.ExecuteIngestOpts{Table: "x", TableDefinitionOptions: &flightsql.TableDefinitionOptions{}})
	for name, err := range map[string]error{"transaction": transaction, "substrait": substrait, "ingest": ingest} {
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestPolledStatementIsReadyAtOnce(t *testing.T) {
	c := open(t)
	info, err := c.ExecutePoll(signedIn(t), "SELECT id FROM docs LIMIT 3", nil)
	if err != nil || info.GetFlightDescriptor() != nil || info.GetProgress() != 1 {
		t.Fatalf("got %v, %v", info, err)
	}
	if got, err := ids(signedIn(t), c, info.Info.Endpoint[0].Ticket); err != nil || len(got) != 3 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestPasswordIsExchangedForAToken(t *testing.T) {
	c := open(t)
	ctx, err := c.Client.AuthenticateBasicToken(t.Context(), "anyone", alltest.Token)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := query(ctx, c, "SELECT id FROM docs LIMIT 1"); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := c.Client.AuthenticateBasicToken(t.Context(), "anyone", "wrong"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("got %v", err)
	}
}

func TestHealthNeedsNoCredentials(t *testing.T) {
	conn, err := grpc.NewClient(serve(t, http.NotFoundHandler()), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	got, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "arrow.flight.protocol.FlightService"})
	if err != nil || got.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("got %v, %v", got, err)
	}
}

// LanceDB clients send the command itself as a ticket, or as the descriptor before the parameters.
func TestCallsOfLanceDBClients(t *testing.T) {
	c := open(t)
	ctx := signedIn(t, "database", "db", "namespace-path", "public", "x-request-id", "r-1", "x-lancedb-user-id", "u", "lancedb-sql-protocol", "adaptive-v1")
	text := "SELECT id FROM docs ORDER BY distance(vector, $vector) LIMIT $k"
	command, err := pack(&pb.CommandStatementQuery{Query: text})
	if err != nil {
		t.Fatal(err)
	}
	plain, err := pack(&pb.CommandStatementQuery{Query: "SELECT id FROM docs WHERE id < 2"})
	if err != nil {
		t.Fatal(err)
	}
	ticket := append([]byte{2<<3 | 2, byte(len(plain))}, plain...)
	if got, err := ids(ctx, c, &flight.Ticket{Ticket: ticket}); err != nil || len(got) != 2 {
		t.Errorf("DoGet: got %v, %v", got, err)
	}

	stream, err := c.Client.DoExchange(ctx)
	if err != nil {
		t.Fatal(err)
	}
	writer := flight.NewRecordWriter(stream, ipc.WithSchema(lanceParameters().Schema()))
	writer.SetFlightDescriptor(&flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: command})
	if err := writer.Write(lanceParameters()); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	rows, err := flight.NewRecordReader(stream)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Release()
	if !rows.Next() || rows.RecordBatch().NumRows() != 3 || rows.RecordBatch().Column(0).(*array.Int64).Value(0) != 7 {
		t.Errorf("DoExchange: got %v, %v", rows.RecordBatch(), rows.Err())
	}
}

func lanceParameters() arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int32},
		{Name: "vector", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)},
	}, nil))
	b.Field(0).(*array.Int32Builder).Append(3)
	vectors := b.Field(1).(*array.FixedSizeListBuilder)
	vectors.Append(true)
	vectors.ValueBuilder().(*array.Float32Builder).AppendValues([]float32{7, 1}, nil)
	return b.NewRecordBatch()
}

func TestPreparedStatementTakesParameters(t *testing.T) {
	c, ctx := open(t), signedIn(t)
	for text, values := range map[string]arrow.RecordBatch{
		"SELECT id FROM docs ORDER BY distance(vector, $vector) LIMIT $k": lanceParameters(),
		"SELECT id FROM docs WHERE id >= ? ORDER BY distance(vector, ?) LIMIT 3": func() arrow.RecordBatch {
			p := lanceParameters()
			return array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "", Type: p.Schema().Field(0).Type}, {Name: "", Type: p.Schema().Field(1).Type}}, nil), p.Columns(), 1)
		}(),
	} {
		prepared, err := c.Prepare(ctx, text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if prepared.ParameterSchema().NumFields() != 2 || prepared.DatasetSchema().NumFields() != 1 {
			t.Errorf("%s: got parameters %v, columns %v", text, prepared.ParameterSchema(), prepared.DatasetSchema())
		}
		types := []arrow.Type{prepared.ParameterSchema().Field(0).Type.ID(), prepared.ParameterSchema().Field(1).Type.ID()}
		if !slices.Contains(types, arrow.FIXED_SIZE_LIST) || !slices.Contains(types, arrow.INT64) {
			t.Errorf("%s: got parameters of types %v", text, types)
		}
		prepared.SetParameters(values)
		info, err := prepared.Execute(ctx)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := ids(ctx, c, info.Endpoint[0].Ticket)
		if err != nil || len(got) != 3 || got[0] != 7 {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
		if err := prepared.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

func TestStatementIsCancelledBeforeItRuns(t *testing.T) {
	c, ctx := open(t), signedIn(t)
	info, err := c.Execute(ctx, "SELECT id FROM docs")
	if err != nil {
		t.Fatal(err)
	}
	result, err := c.CancelFlightInfo(ctx, &flight.CancelFlightInfoRequest{Info: info})
	if err != nil || result.GetStatus() != flight.CancelStatusCancelled {
		t.Errorf("got %v, %v", result, err)
	}
	if _, err := ids(ctx, c, info.Endpoint[0].Ticket); status.Code(err) != codes.Canceled {
		t.Errorf("got %v", err)
	}
	if _, err := c.CancelFlightInfo(t.Context(), &flight.CancelFlightInfoRequest{Info: proto.CloneOf(info)}); status.Code(err) != codes.Unauthenticated {
		t.Errorf("without credentials: got %v", err)
	}
}

func TestConnectionsAreEncrypted(t *testing.T) {
	web := httptest.NewTLSServer(http.NotFoundHandler()) // has a certificate
	t.Cleanup(web.Close)
	address := serveWith(t, Options{Handler: http.NotFoundHandler(), TLS: &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12}})
	check := func(with credentials.TransportCredentials) error {
		c, err := grpc.NewClient(address, grpc.WithTransportCredentials(with))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		_, err = grpc_health_v1.NewHealthClient(c).Check(t.Context(), new(grpc_health_v1.HealthCheckRequest))
		return err
	}
	trusted := x509.NewCertPool()
	trusted.AddCert(web.Certificate())
	if err := check(credentials.NewClientTLSFromCert(trusted, "example.com")); err != nil {
		t.Error(err)
	}
	if err := check(insecure.NewCredentials()); status.Code(err) != codes.Unavailable {
		t.Errorf("without TLS: got %v, want no connection", err)
	}
}
