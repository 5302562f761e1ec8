package flightsql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"tiltyard/shared/sql/syntax"
)

// actions are the actions that the server has, with what they do.
var actions = []flight.ActionType{
	{Type: flightsql.CreatePreparedStatementActionType, Description: "Prepare a statement: ActionCreatePreparedStatementRequest => ActionCreatePreparedStatementResult"},
	{Type: flightsql.ClosePreparedStatementActionType, Description: "Forget a prepared statement: ActionClosePreparedStatementRequest => nothing"},
	{Type: flight.CancelFlightInfoActionType, Description: "Cancel a statement: CancelFlightInfoRequest => CancelFlightInfoResult"},
	{Type: flightsql.CancelQueryActionType, Description: "Cancel a statement: ActionCancelQueryRequest => ActionCancelQueryResult"},
	{Type: flight.CloseSessionActionType, Description: "End a session: CloseSessionRequest => CloseSessionResult"},
}

// ListActions lists the actions.
func (s *Server) ListActions(_ *flight.Empty, stream flight.FlightService_ListActionsServer) error {
	for i := range actions {
		if err := stream.Send(&actions[i]); err != nil {
			return err
		}
	}
	return nil
}

// DoAction performs an action.
func (s *Server) DoAction(action *flight.Action, stream flight.FlightService_DoActionServer) error {
	result, err := s.act(stream.Context(), action)
	if err != nil {
		return err
	}
	return stream.Send(&flight.Result{Body: result})
}

// act performs an action and returns its result as bytes.
func (s *Server) act(ctx context.Context, action *flight.Action) ([]byte, error) {
	switch action.GetType() {
	case flightsql.CreatePreparedStatementActionType:
		request := new(pb.ActionCreatePreparedStatementRequest)
		if err := unpack(action.GetBody(), request); err != nil {
			return nil, err
		}
		result, err := s.prepare(ctx, request)
		if err != nil {
			return nil, err
		}
		return pack(result)
	case flightsql.ClosePreparedStatementActionType:
		return nil, unpack(action.GetBody(), new(pb.ActionClosePreparedStatementRequest)) // there is nothing to forget
	case flight.CancelFlightInfoActionType:
		request := new(flight.CancelFlightInfoRequest)
		if err := proto.Unmarshal(action.GetBody(), request); err != nil {
			return nil, invalid("the body of the action is malformed: %s", err)
		}
		if err := s.cancel(ctx, request.GetInfo()); err != nil {
			return nil, err
		}
		return proto.Marshal(&flight.CancelFlightInfoResult{Status: flight.CancelStatusCancelled})
	case flightsql.CancelQueryActionType:
		return s.cancelQuery(ctx, action.GetBody())
	case flight.CloseSessionActionType:
		return proto.Marshal(&flight.CloseSessionResult{Status: flight.CloseSessionResultClosed})
	case flightsql.BeginTransactionActionType, flightsql.EndTransactionActionType, flightsql.BeginSavepointActionType, flightsql.EndSavepointActionType:
		return nil, errTransactions
	case flightsql.CreatePreparedSubstraitPlanActionType:
		return nil, errSubstrait
	case flight.SetSessionOptionsActionType, flight.GetSessionOptionsActionType:
		return nil, unsupported("there are no session options")
	case flight.RenewFlightEndpointActionType:
		return nil, unsupported("tickets do not expire, so they cannot be renewed")
	}
	return nil, unsupported("the action %.100q is not supported", action.GetType())
}

// unpack reads the message of an action.
func unpack(body []byte, into proto.Message) error {
	message, err := commandOf(body)
	if err != nil {
		return err
	}
	want, got := into.ProtoReflect().Descriptor().Name(), message.ProtoReflect().Descriptor().Name()
	if want != got {
		return invalid("the body of the action is %s, not %s", got, want)
	}
	proto.Merge(into, message)
	return nil
}

// prepare describes a statement. Its handle is the statement itself.
func (s *Server) prepare(ctx context.Context, request *pb.ActionCreatePreparedStatementRequest) (*pb.ActionCreatePreparedStatementResult, error) {
	statement, err := newStatement(ctx, request.GetQuery(), request.GetTransactionId())
	if err != nil {
		return nil, err
	}
	schema, err := s.describe(ctx, statement)
	if err != nil {
		return nil, err
	}
	parameters, err := s.parameters(ctx, statement)
	if err != nil {
		return nil, err
	}
	result := &pb.ActionCreatePreparedStatementResult{
		PreparedStatementHandle: statement.encode(),
		ParameterSchema:         flight.SerializeSchema(parameters, memory.DefaultAllocator),
		IsUpdate:                proto.Bool(!syntax.Reads(statement.Query)),
	}
	if schema != nil {
		result.DatasetSchema = flight.SerializeSchema(schema, memory.DefaultAllocator)
	}
	return result, nil
}

// cancel ends a statement whose rows are being sent, or prevents that its ticket is used.
func (s *Server) cancel(ctx context.Context, info *flight.FlightInfo) error {
	if _, err := s.signedIn(ctx); err != nil {
		return err
	}
	for _, endpoint := range info.GetEndpoint() {
		command, err := commandOf(endpoint.GetTicket().GetTicket())
		if err != nil {
			return err
		}
		ticket, ok := command.(*pb.TicketStatementQuery)
		if !ok {
			continue // a list, which ends by itself
		}
		statement, err := decodeStatement(ticket.GetStatementHandle())
		if err != nil {
			return err
		}
		if statement.ID != "" {
			s.runs.cancel(statement.ID)
		}
	}
	return nil
}

// cancelQuery is cancel for clients before Arrow 13.
func (s *Server) cancelQuery(ctx context.Context, body []byte) ([]byte, error) {
	request := new(pb.ActionCancelQueryRequest) //nolint:staticcheck // deprecated, and in use
	if err := unpack(body, request); err != nil {
		return nil, err
	}
	info := new(flight.FlightInfo)
	if err := proto.Unmarshal(request.GetInfo(), info); err != nil {
		return nil, invalid("the body of the action is malformed: %s", err)
	}
	if err := s.cancel(ctx, info); err != nil {
		return nil, err
	}
	return pack(&pb.ActionCancelQueryResult{Result: pb.ActionCancelQueryResult_CANCEL_RESULT_CANCELLED}) //nolint:staticcheck // deprecated, and in use
}
