package flightsql

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"google.golang.org/grpc/metadata"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
)

// Handshake exchanges a name and a password for a token, as drivers ask for it. The password is the token, so there is
// nothing to exchange but its form.
func (s *Server) Handshake(stream flight.FlightService_HandshakeServer) error {
	ctx := stream.Context()
	if _, err := s.signedIn(ctx); err != nil {
		return err
	}
	for _, value := range headerOf(ctx).Values("Authorization") {
		if err := stream.SetHeader(metadata.Pairs("authorization", value)); err != nil {
			return err
		}
	}
	return stream.Send(&flight.HandshakeResponse{})
}

// signedIn returns a client for a sender whose credentials are valid. Calls that make no other request begin with it.
func (s *Server) signedIn(ctx context.Context) (*client.Client, error) {
	c, err := s.front.client(ctx)
	if err != nil {
		return nil, statusOf(ctx, err)
	}
	// Any read finds out. A refusal for missing rights comes after the sender has been recognized.
	_, err = c.ListTables(ctx, &tableapi.ListRequest{Page: protocol.Page{Limit: new(int64(1))}})
	if err != nil && !errors.Is(err, protocol.PermissionDenied) {
		return nil, statusOf(ctx, err)
	}
	return c, nil
}
