package flightsql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"tiltyard/shared/client"
)

// A list answers a question about the database, not about rows. The rows of lists are those of Flight SQL.
type list struct {
	schema *arrow.Schema
	// write writes the rows. Nil: there are none.
	write func(ctx context.Context, c *client.Client, rows *listWriter) error
}

// listOf returns the list that a command asks for. ok is false if it asks for something else.
func listOf(command proto.Message) (l list, ok bool) {
	switch c := command.(type) {
	case *pb.CommandGetCatalogs:
		return list{schema_ref.Catalogs, writeCatalogs}, true
	case *pb.CommandGetDbSchemas:
		return list{schema_ref.DBSchemas, schemasOf(c)}, true
	case *pb.CommandGetTables:
		if c.GetIncludeSchema() {
			return list{schema_ref.TablesWithIncludedSchema, tablesOf(c)}, true
		}
		return list{schema_ref.Tables, tablesOf(c)}, true
	case *pb.CommandGetTableTypes:
		return list{schema_ref.TableTypes, writeTableTypes}, true
	case *pb.CommandGetSqlInfo:
		return list{schema_ref.SqlInfo, infosOf(c)}, true
	case *pb.CommandGetXdbcTypeInfo:
		return list{schema_ref.XdbcTypeInfo, typesOf(c)}, true
	case *pb.CommandGetPrimaryKeys:
		return list{schema_ref.PrimaryKeys, nil}, true // tables have none that the service enforces
	case *pb.CommandGetExportedKeys:
		return list{schema_ref.ExportedKeys, nil}, true
	case *pb.CommandGetImportedKeys:
		return list{schema_ref.ImportedKeys, nil}, true
	case *pb.CommandGetCrossReference:
		return list{schema_ref.CrossReference, nil}, true
	}
	return list{}, false
}

// sendList sends the rows of a list to a sender with valid credentials.
func (s *Server) sendList(ctx context.Context, l list, stream flight.DataStreamWriter) error {
	c, err := s.signedIn(ctx)
	if err != nil {
		return err
	}
	rows := &listWriter{builder: array.NewRecordBuilder(memory.DefaultAllocator, l.schema), out: flight.NewRecordWriter(stream, ipc.WithSchema(l.schema))}
	defer rows.builder.Release()
	if l.write != nil {
		if err := l.write(ctx, c, rows); err != nil {
			return statusOf(ctx, err)
		}
	}
	if err := rows.flush(); err != nil {
		return statusOf(ctx, err)
	}
	return statusOf(ctx, rows.out.Close())
}

// A listWriter sends rows in batches.
type listWriter struct {
	builder *array.RecordBuilder
	out     *flight.Writer
	rows    int
	bytes   int // of long values
}

// listRows is the number of rows in a batch.
const listRows = 1000

// add adds a row: a text, bytes or nil for each column.
func (w *listWriter) add(values ...any) error {
	for i, value := range values {
		switch v := value.(type) {
		case string:
			w.builder.Field(i).(*array.StringBuilder).Append(v)
		case []byte:
			w.builder.Field(i).(*array.BinaryBuilder).Append(v)
			w.bytes += len(v)
		case nil:
			w.builder.Field(i).AppendNull()
		}
	}
	return w.ended()
}

// ended sends a batch that is large enough, after a row has been added.
func (w *listWriter) ended() error {
	if w.rows++; w.rows < listRows && w.bytes < pieceBytes {
		return nil
	}
	return w.flush()
}

// flush sends the rows since the last batch.
func (w *listWriter) flush() error {
	if w.rows == 0 {
		return nil
	}
	w.rows, w.bytes = 0, 0
	batch := w.builder.NewRecordBatch()
	defer batch.Release()
	return w.out.Write(batch)
}
