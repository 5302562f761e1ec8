package flightsql

import (
	"context"
	"crypto/rand"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/sql/syntax"
)

// GetFlightInfo describes the answer to a command and returns a ticket for it. It runs nothing: a statement runs when its
// ticket is used.
func (s *Server) GetFlightInfo(ctx context.Context, descriptor *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	command, err := commandOf(descriptor.GetCmd())
	if err != nil {
		return nil, err
	}
	if list, ok := listOf(command); ok {
		return infoOf(descriptor, list.schema, descriptor.GetCmd()), nil
	}
	statement, err := statementOf(ctx, command)
	if err != nil {
		return nil, err
	}
	schema, err := s.describe(ctx, statement)
	if err != nil {
		return nil, err
	}
	statement.ID = rand.Text()
	ticket, err := statement.ticket()
	if err != nil {
		return nil, err
	}
	return infoOf(descriptor, schema, ticket), nil
}

// PollFlightInfo is GetFlightInfo for clients that expect to wait. They need not: a statement runs while its rows are read.
func (s *Server) PollFlightInfo(ctx context.Context, descriptor *flight.FlightDescriptor) (*flight.PollInfo, error) {
	info, err := s.GetFlightInfo(ctx, descriptor)
	if err != nil {
		return nil, err
	}
	return &flight.PollInfo{Info: info, Progress: proto.Float64(1)}, nil
}

// GetSchema returns the columns of the answer to a command.
func (s *Server) GetSchema(ctx context.Context, descriptor *flight.FlightDescriptor) (*flight.SchemaResult, error) {
	info, err := s.GetFlightInfo(ctx, descriptor)
	if err != nil {
		return nil, err
	}
	return &flight.SchemaResult{Schema: info.GetSchema()}, nil
}

// infoOf returns a description with one endpoint, at the same address.
func infoOf(descriptor *flight.FlightDescriptor, schema *arrow.Schema, ticket []byte) *flight.FlightInfo {
	info := &flight.FlightInfo{
		FlightDescriptor: descriptor, TotalRecords: -1, TotalBytes: -1,
		Endpoint: []*flight.FlightEndpoint{{Ticket: &flight.Ticket{Ticket: ticket}}},
	}
	if schema != nil {
		info.Schema = flight.SerializeSchema(schema, memory.DefaultAllocator)
	}
	return info
}

// statementOf returns the statement that a command runs, or refuses the command by its name.
func statementOf(ctx context.Context, command proto.Message) (*statement, error) {
	switch c := command.(type) {
	case *pb.CommandStatementQuery:
		return newStatement(ctx, c.GetQuery(), c.GetTransactionId())
	case *pb.TicketStatementQuery:
		return decodeStatement(c.GetStatementHandle())
	case *pb.CommandPreparedStatementQuery:
		return decodeStatement(c.GetPreparedStatementHandle())
	case *pb.CommandStatementSubstraitPlan:
		return nil, errSubstrait
	}
	return nil, unsupported("%s is not supported here", command.ProtoReflect().Descriptor().Name())
}

// errSubstrait refuses a part of Flight SQL.
var errSubstrait = unsupported("plans of Substrait are not supported; send the statement in SQL")

// describe returns the columns of the rows of a statement, without running it. It returns nil for statements that change
// something, whose answers have no rows of a table.
func (s *Server) describe(ctx context.Context, statement *statement) (*arrow.Schema, error) {
	if !syntax.Reads(statement.Query) {
		_, err := s.signedIn(ctx)
		return nil, err
	}
	return s.columns(ctx, statement, queryapi.DescribeColumns)
}

// columns returns the columns of a description.
func (s *Server) columns(ctx context.Context, statement *statement, of queryapi.Description) (*arrow.Schema, error) {
	request := statement.request()
	request.Describe = of
	c, err := s.front.client(ctx)
	if err != nil {
		return nil, statusOf(ctx, err)
	}
	rows, err := c.ExecuteStatement(ctx, request)
	if err != nil {
		return nil, statusOf(ctx, err)
	}
	defer rows.Close()
	return rows.Schema(), nil
}
