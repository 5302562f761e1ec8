package flightsql

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/arrow/rowjson"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/sql/syntax"
)

// A parameterRow has the values of the parameters for one run of a statement.
type parameterRow = map[string]json.RawMessage

// maxParameterRows bounds how often one call runs a statement.
const maxParameterRows = 1000

// readParameters reads the rows of parameters that follow a command. There are none if no Arrow data follows.
func readParameters(ctx context.Context, query string, messages *messageReader) (rows []parameterRow, err error) {
	defer func() {
		if cause := recover(); cause != nil { // of the conversion to JSON, at a type that it lacks
			err = invalid("the parameters have a type that statements cannot take")
		}
	}()
	if !messages.hasData() {
		return nil, nil
	}
	parameters, err := syntax.Parameters(query)
	if err != nil {
		return nil, invalid("%s", err)
	}
	reader, err := arrowipc.NewReader(ctx, messages, arrowipc.Limits{MaxMessageBytes: maxMessageBytes, MaxDecodedBytes: 2 * maxMessageBytes, MaxColumns: queryapi.MaxParameters})
	if err != nil {
		return nil, invalid("the parameters are not an Arrow stream: %s", err)
	}
	names := make([]string, len(parameters))
	for i, p := range parameters {
		names[i] = p.Name
	}
	schema, err := namedSchema(reader.Schema(), names)
	if err != nil {
		return nil, err
	}
	for {
		batch, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, invalid("the parameters are not an Arrow stream: %s", err)
		}
		if int64(len(rows))+batch.NumRows() > maxParameterRows {
			return nil, invalid("the parameters have more than %d rows", maxParameterRows)
		}
		more, err := jsonRows(array.NewRecordBatch(schema, batch.Columns(), batch.NumRows()))
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
}

// namedSchema gives columns the names of parameters: those that they have, or else those in the order of the statement.
func namedSchema(schema *arrow.Schema, names []string) (*arrow.Schema, error) {
	fields := slices.Clone(schema.Fields())
	if len(fields) != len(names) {
		return nil, invalid("the statement has %d parameters, and there are values of %d", len(names), len(fields))
	}
	named := true
	for i, field := range fields {
		fields[i].Name = strings.TrimLeft(field.Name, "$:@")
		named = named && slices.Contains(names, fields[i].Name)
	}
	if named {
		return arrow.NewSchema(fields, nil), nil
	}
	for i := range fields {
		fields[i].Name = names[i]
	}
	return arrow.NewSchema(fields, nil), nil
}

// jsonRows returns the rows of a batch as JSON values.
func jsonRows(batch arrow.RecordBatch) ([]parameterRow, error) {
	if batch.NumCols() == 0 {
		return slices.Repeat([]parameterRow{nil}, int(batch.NumRows())), nil
	}
	var lines bytes.Buffer
	if err := rowjson.Write(&lines, batch); err != nil {
		return nil, invalid("the parameters have a type that statements cannot take: %s", err)
	}
	var rows []parameterRow
	for decoder := json.NewDecoder(&lines); decoder.More(); {
		var row parameterRow
		if err := decoder.Decode(&row); err != nil {
			return nil, invalid("the parameters have a value that statements cannot take: %s", err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// bind returns the statement with its only row of parameters.
func (s *statement) bind(rows []parameterRow) (*statement, error) {
	if len(rows) > 1 {
		return nil, invalid("a query takes one row of parameters, not %d", len(rows))
	}
	bound := *s
	if len(rows) == 1 {
		bound.Parameters = rows[0]
	}
	return &bound, nil
}

// A messageReader makes an Arrow stream of the messages of a call. The first message has been received with the
// descriptor.
type messageReader struct {
	receive func() (*flight.FlightData, error)
	next    *flight.FlightData // nil: not yet received
	rest    bytes.Buffer
	err     error
}

// hasData reports whether an Arrow message follows, and receives it.
func (r *messageReader) hasData() bool {
	for r.err == nil && len(r.next.GetDataHeader()) == 0 {
		r.next, r.err = r.receive()
	}
	return r.err == nil
}

// Read implements io.Reader.
func (r *messageReader) Read(p []byte) (int, error) {
	for r.rest.Len() == 0 {
		if !r.hasData() {
			return 0, r.err
		}
		r.rest.Reset()
		r.encode(r.next)
		r.next = nil
	}
	return r.rest.Read(p)
}

// encode writes a message as it is in a stream: a mark, the length of the header with its padding to 8 bytes, the header,
// and the body.
//
// Source: format/Message.fbs and "Encapsulated message format" of the columnar format.
func (r *messageReader) encode(m *flight.FlightData) {
	padding := -len(m.GetDataHeader()) & 7
	start := binary.LittleEndian.AppendUint32(nil, 0xffffffff)
	start = binary.LittleEndian.AppendUint32(start, uint32(len(m.GetDataHeader())+padding))
	r.rest.Write(start)
	r.rest.Write(m.GetDataHeader())
	r.rest.Write(make([]byte, padding))
	r.rest.Write(m.GetDataBody())
}

// parameters returns the parameters of a statement as columns. They are texts in statements that change something, which
// are not described.
func (s *Server) parameters(ctx context.Context, statement *statement) (*arrow.Schema, error) {
	parameters, err := syntax.Parameters(statement.Query)
	switch {
	case err != nil:
		return nil, invalid("%s", err)
	case len(parameters) > 0 && syntax.Reads(statement.Query):
		return s.columns(ctx, statement, queryapi.DescribeParameters)
	}
	fields := make([]arrow.Field, len(parameters))
	for i, p := range parameters {
		fields[i] = arrow.Field{Name: p.Name, Type: arrow.BinaryTypes.String, Nullable: true}
	}
	return arrow.NewSchema(fields, nil), nil
}
