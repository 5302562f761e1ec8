package flightsql

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"
)

// DoPut runs a statement that changes something, or binds the parameters of a prepared one.
func (s *Server) DoPut(stream flight.FlightService_DoPutServer) error {
	return s.guarded(stream.Context(), nil, func(ctx context.Context, _ flight.DataStreamWriter) error { return s.put(ctx, stream) })
}

func (s *Server) put(ctx context.Context, stream flight.FlightService_DoPutServer) error {
	command, messages, err := received(stream.Recv)
	if err != nil {
		return err
	}
	var result proto.Message
	switch c := command.(type) {
	case *pb.CommandStatementUpdate:
		result, err = s.update(ctx, c)
	case *pb.CommandPreparedStatementUpdate:
		result, err = s.updatePrepared(ctx, c, messages)
	case *pb.CommandPreparedStatementQuery:
		result, err = s.bindPrepared(ctx, c, messages)
	case *pb.CommandStatementIngest:
		err = unsupported("bulk ingestion is not supported; insert rows by statements, or by REST")
	case *pb.CommandStatementSubstraitPlan:
		err = errSubstrait
	default:
		err = unsupported("%s is not supported here", command.ProtoReflect().Descriptor().Name())
	}
	if err != nil {
		return err
	}
	data, err := proto.Marshal(result)
	if err != nil {
		return err
	}
	return stream.Send(&flight.PutResult{AppMetadata: data})
}

// received returns the command in the first message of a call, and the messages from that on.
func received(receive func() (*flight.FlightData, error)) (proto.Message, *messageReader, error) {
	first, err := receive()
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil, invalid("the call has no message")
	case err != nil:
		return nil, nil, err
	case first.GetFlightDescriptor() == nil:
		return nil, nil, invalid("the first message of the call has no descriptor")
	}
	command, err := commandOf(first.GetFlightDescriptor().GetCmd())
	return command, &messageReader{receive: receive, next: first}, err
}

// update runs a statement once.
func (s *Server) update(ctx context.Context, c *pb.CommandStatementUpdate) (proto.Message, error) {
	statement, err := newStatement(ctx, c.GetQuery(), c.GetTransactionId())
	if err != nil {
		return nil, err
	}
	count, err := s.change(ctx, statement)
	return &pb.DoPutUpdateResult{RecordCount: count}, err
}

// prepared returns a prepared statement, and the rows of parameters that follow it.
func prepared(ctx context.Context, c interface{ GetPreparedStatementHandle() []byte }, messages *messageReader) (*statement, []map[string]json.RawMessage, error) {
	statement, err := decodeStatement(c.GetPreparedStatementHandle())
	if err != nil {
		return nil, nil, err
	}
	rows, err := readParameters(ctx, statement.Query, messages)
	return statement, rows, err
}

// updatePrepared runs a prepared statement for each row of parameters, or once without any.
func (s *Server) updatePrepared(ctx context.Context, c *pb.CommandPreparedStatementUpdate, messages *messageReader) (proto.Message, error) {
	statement, rows, err := prepared(ctx, c, messages)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		rows = append(rows, statement.Parameters)
	}
	result := new(pb.DoPutUpdateResult)
	for _, row := range rows {
		statement.Parameters = row
		count, err := s.change(ctx, statement)
		if err != nil {
			return nil, err
		}
		result.RecordCount += count
	}
	return result, nil
}

// bindPrepared returns a handle that contains the parameters, too. Clients before Arrow 16 do not read it, and send the
// handle without parameters.
func (s *Server) bindPrepared(ctx context.Context, c *pb.CommandPreparedStatementQuery, messages *messageReader) (proto.Message, error) {
	statement, rows, err := prepared(ctx, c, messages)
	if err != nil {
		return nil, err
	}
	if statement, err = statement.bind(rows); err != nil {
		return nil, err
	}
	return &pb.DoPutPreparedStatementResult{PreparedStatementHandle: statement.encode()}, nil
}

// change runs a statement and returns how many rows it has changed: the sum of the column count of its answer, if that is
// its only column, and 0 for statements that change no rows.
func (s *Server) change(ctx context.Context, statement *statement) (int64, error) {
	c, err := s.front.client(ctx)
	if err != nil {
		return 0, statusOf(ctx, err)
	}
	rows, err := c.ExecuteStatement(ctx, statement.request())
	if err != nil {
		return 0, statusOf(ctx, err)
	}
	defer rows.Close()
	counts := len(rows.Schema().Fields()) == 1 && rows.Schema().Field(0).Name == "count" && rows.Schema().Field(0).Type.ID() == arrow.INT64
	var total int64
	for batch, err := range rows.Batches() {
		if err == nil && isJob(rows.Schema()) {
			err = await(ctx, c, batch)
		}
		if err != nil {
			return 0, statusOf(ctx, err)
		}
		for i := int64(0); counts && i < batch.NumRows(); i++ {
			total += batch.Column(0).(*array.Int64).Value(int(i))
		}
	}
	return total, nil
}

// DoExchange runs a statement with the parameters that follow it, and sends its rows. LanceDB clients use it.
func (s *Server) DoExchange(stream flight.FlightService_DoExchangeServer) error {
	return s.guarded(stream.Context(), stream, func(ctx context.Context, out flight.DataStreamWriter) error {
		command, messages, err := received(stream.Recv)
		if err != nil {
			return err
		}
		statement, err := statementOf(ctx, command)
		if err != nil {
			return err
		}
		rows, err := readParameters(ctx, statement.Query, messages)
		if err != nil {
			return err
		}
		if statement, err = statement.bind(rows); err != nil {
			return err
		}
		return s.run(ctx, statement, out)
	})
}
