package flightsql

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"

	"tiltyard/shared/protocol/queryapi"
)

// A statement is the content of a ticket, and of the handle of a prepared statement, as JSON. Drivers treat it as opaque.
type statement struct {
	Query      string                     `json:"query"`
	Parameters map[string]json.RawMessage `json:"parameters,omitempty"`
	Namespace  []string                   `json:"namespace,omitempty"` // of tables without a namespace in the query
	ID         string                     `json:"id,omitempty"`        // names the run to who wants to cancel it
}

// request returns the statement as a request of REST.
func (s *statement) request() *queryapi.StatementRequest {
	return &queryapi.StatementRequest{Query: s.Query, Parameters: s.Parameters, NamespaceID: s.Namespace}
}

// encode returns the statement as bytes for a ticket or a handle.
func (s *statement) encode() []byte {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // texts, and JSON that was checked, always encode
	}
	return data
}

// decodeStatement reads what encode has written. It trusts nothing: the bytes come from the network.
func decodeStatement(data []byte) (*statement, error) {
	s := new(statement)
	if err := json.Unmarshal(data, s); err != nil || s.Query == "" {
		return nil, invalid("the ticket or the handle of a prepared statement is not one that this server has made")
	}
	return s, nil
}

// ticket returns a ticket for the rows of the statement.
func (s *statement) ticket() ([]byte, error) {
	return pack(&pb.TicketStatementQuery{StatementHandle: s.encode()})
}

// pack wraps a message as Flight SQL has them in tickets and results.
func pack(message proto.Message) ([]byte, error) {
	wrapped, err := anypb.New(message)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(wrapped)
}

// commandOf reads the message in a descriptor, a ticket or the body of an action.
func commandOf(data []byte) (proto.Message, error) {
	var wrapped anypb.Any
	if err := proto.Unmarshal(data, &wrapped); err != nil {
		return nil, invalid("the command is not a message of Flight SQL: %s", err)
	}
	// LanceDB clients have a ticket of their own, with a command as the second field, where Any has its value.
	if wrapped.TypeUrl == "" && len(wrapped.Value) > 0 {
		inner := new(anypb.Any)
		if err := proto.Unmarshal(wrapped.Value, inner); err != nil {
			return nil, invalid("the command is not a message of Flight SQL: %s", err)
		}
		wrapped.TypeUrl, wrapped.Value = inner.TypeUrl, inner.Value
	}
	message, err := wrapped.UnmarshalNew()
	if err != nil {
		return nil, invalid("the command %.100q is not one of Flight SQL, or is malformed", wrapped.TypeUrl)
	}
	return message, nil
}

// newStatement returns the statement of a query in the namespace that a LanceDB client has chosen.
func newStatement(ctx context.Context, query string, transaction []byte) (*statement, error) {
	switch {
	case len(transaction) > 0:
		return nil, errTransactions
	case query == "":
		return nil, invalid("the query is empty: it is a statement such as SELECT * FROM docs LIMIT 10")
	}
	return &statement{Query: query, Namespace: namespaceOf(ctx)}, nil
}

// errTransactions refuses a part of Flight SQL.
var errTransactions = unsupported("transactions are not supported: each statement is one by itself")

// namespaceOf returns the namespace for names without one. LanceDB clients send it with each call, joined by $. They send
// public if the user has chosen none.
func namespaceOf(ctx context.Context) []string {
	received, _ := metadata.FromIncomingContext(ctx)
	for _, path := range received.Get("namespace-path") {
		if path != "" && path != "public" {
			return slices.DeleteFunc(strings.Split(path, "$"), func(name string) bool { return name == "" })
		}
	}
	return nil
}
