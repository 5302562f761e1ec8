package flightsql

import (
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMalformedMessagesAreInvalid(t *testing.T) {
	c, ctx := open(t), signedIn(t)
	handle, err := pack(&pb.CommandPreparedStatementQuery{PreparedStatementHandle: (&statement{Query: "SELECT id FROM docs WHERE id = ?"}).encode()})
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := pack(&pb.TicketStatementQuery{StatementHandle: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"nothing": nil, "noise": {0xff, 0xff, 0xff}, "text": []byte("SELECT 1"), "other": foreign, "nested": {0x12, 3, 0x12, 1, 0xff}} {
		_, get := ids(ctx, c, &flight.Ticket{Ticket: data})
		_, info := c.Client.GetFlightInfo(ctx, &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: data})
		_, poll := c.Client.PollFlightInfo(ctx, &flight.FlightDescriptor{Type: flight.DescriptorCMD, Cmd: data})
		_, schema := c.Client.GetSchema(ctx, &flight.FlightDescriptor{Type: flight.DescriptorPATH, Path: []string{"x"}})
		sent := put(t, c, &flight.FlightData{FlightDescriptor: &flight.FlightDescriptor{Cmd: data}})
		for call, err := range map[string]error{"DoGet": get, "GetFlightInfo": info, "PollFlightInfo": poll, "GetSchema": schema, "DoPut": sent} {
			want := codes.InvalidArgument
			if call == "DoPut" && name == "other" {
				want = codes.Unimplemented // a ticket is no command, whatever it contains
			}
			if status.Code(err) != want {
				t.Errorf("%s of %s: got %v", call, name, err)
			}
		}
	}
	for name, message := range map[string]*flight.FlightData{
		"no descriptor": {},
		"no arrow":      {FlightDescriptor: &flight.FlightDescriptor{Cmd: handle}, DataHeader: []byte("not a flatbuffer"), DataBody: []byte("x")},
	} {
		if err := put(t, c, message); status.Code(err) != codes.InvalidArgument {
			t.Errorf("DoPut with %s: got %v", name, err)
		}
	}
	for _, action := range []string{"CreatePreparedStatement", "ClosePreparedStatement", "CancelFlightInfo", "CancelQuery"} {
		stream, err := c.Client.DoAction(ctx, &flight.Action{Type: action, Body: []byte{0xff}})
		if err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("action %s: got %v", action, err)
		}
	}
}

// A decoded statement is encoded to one that decodes to the same, whatever the bytes were.
func FuzzStatement(f *testing.F) {
	f.Add((&statement{Query: "SELECT 1", Parameters: parameterRow{"a": []byte("[1,2]")}, Namespace: []string{"n"}, ID: "x"}).encode())
	f.Add([]byte(`{"query":"x","parameters":{"a":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeStatement(data)
		if err != nil {
			return
		}
		again, err := decodeStatement(s.encode())
		if err != nil || string(again.encode()) != string(s.encode()) {
			t.Errorf("%q became %q, %v", s.encode(), again, err)
		}
	})
}

// Commands and the Arrow messages behind them come from the network.
func FuzzCommand(f *testing.F) {
	for _, message := range []*pb.CommandStatementQuery{{Query: "SELECT 1"}, {}} {
		data, err := pack(message)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, []byte("header"), []byte("body"))
		f.Add(append([]byte{0x12, byte(len(data))}, data...), []byte{}, []byte{})
	}
	f.Fuzz(func(t *testing.T, data, header, body []byte) {
		if command, err := commandOf(data); err == nil {
			_, _ = listOf(command)
			_, _ = statementOf(t.Context(), command)
		}
		messages := &messageReader{next: &flight.FlightData{DataHeader: header, DataBody: body}, receive: func() (*flight.FlightData, error) { return nil, io.EOF }}
		if _, err := readParameters(t.Context(), "SELECT ?", messages); err != nil && status.Code(err) != codes.InvalidArgument {
			t.Error(err)
		}
	})
}

// put sends one message and returns the error of the call.
func put(t *testing.T, c *flightsql.Client, message *flight.FlightData) error {
	t.Helper()
	stream, err := c.Client.DoPut(signedIn(t))
	if err != nil {
		return err
	}
	if err := errors.Join(stream.Send(message), stream.CloseSend()); err != nil {
		return err
	}
	_, err = stream.Recv()
	return err
}
