package flightsql

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
)

// Options configure a server.
type Options struct {
	// Handler answers the requests of REST.
	Handler http.Handler
	// BasePath is the prefix of /v1 that Handler expects.
	BasePath string
	// TLS is the configuration of connections. Nil: they are not encrypted.
	TLS *tls.Config
	// Logger gets panics. Nil: none.
	Logger *slog.Logger
	// Timeout bounds a call. Zero: 5 minutes.
	Timeout time.Duration
	// StallTimeout is how long a client may take to read one message. Zero: one minute.
	StallTimeout time.Duration
}

// Limits of messages and connections.
const (
	maxMessageBytes = 16 << 20 // as received: statements with vectors
	maxHeaderBytes  = 64 << 10
	maxCalls        = 256 // at once on a connection
	idleTimeout     = 10 * time.Minute
	pingTimeout     = 20 * time.Second
	minPingInterval = 10 * time.Second
	drainTimeout    = 30 * time.Second
)

// A Server answers calls of Flight SQL. Its methods are those of the service.
type Server struct {
	flight.BaseFlightServer
	Options
	front front
	runs  runs
}

// New returns a server.
func New(options Options) *Server {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Timeout <= 0 {
		options.Timeout = 5 * time.Minute
	}
	if options.StallTimeout <= 0 {
		options.StallTimeout = time.Minute
	}
	return &Server{Options: options, front: front{options.Handler, options.BasePath}}
}

// Serve answers calls on a listener until the context ends. It then lets running calls finish, for a limited time.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	connection := insecure.NewCredentials()
	if s.TLS != nil {
		connection = credentials.NewTLS(s.TLS)
	}
	server := grpc.NewServer(
		grpc.Creds(connection), grpc.MaxRecvMsgSize(maxMessageBytes), grpc.MaxHeaderListSize(maxHeaderBytes), grpc.MaxConcurrentStreams(maxCalls),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idleTimeout, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPingInterval, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(s.containUnary), grpc.StreamInterceptor(s.containStream),
	)
	flight.RegisterFlightServiceServer(server, s)
	alive := health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, alive)
	alive.SetServingStatus(pb.FlightService_ServiceDesc.ServiceName, grpc_health_v1.HealthCheckResponse_SERVING)
	reflection.Register(server)

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve SQL: %w", err)
	case <-ctx.Done():
	}
	alive.Shutdown()
	late := time.AfterFunc(drainTimeout, server.Stop)
	defer late.Stop()
	server.GracefulStop()
	if err := <-failed; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serve SQL: %w", err)
	}
	return nil
}

// DoGet sends the rows of a ticket.
func (s *Server) DoGet(ticket *flight.Ticket, stream flight.FlightService_DoGetServer) error {
	command, err := commandOf(ticket.GetTicket())
	if err != nil {
		return err
	}
	ctx := stream.Context()
	if list, ok := listOf(command); ok {
		return s.guarded(ctx, stream, func(ctx context.Context, stream flight.DataStreamWriter) error {
			return s.sendList(ctx, list, stream)
		})
	}
	statement, err := statementOf(ctx, command)
	if err != nil {
		return err
	}
	return s.guarded(ctx, stream, func(ctx context.Context, stream flight.DataStreamWriter) error {
		ctx, end, err := s.runs.begin(ctx, statement.ID)
		if err != nil {
			return err
		}
		defer end()
		return s.run(ctx, statement, stream)
	})
}

// errPanic is what a client gets to know of a fault of the program.
var errPanic = status.Error(codes.Internal, "internal error; the log of the server has the cause")

// contain reports a panic as the error of the call.
func (s *Server) contain(ctx context.Context, done chan<- error) {
	if cause := recover(); cause != nil {
		s.logPanic(ctx, cause)
		done <- errPanic
	}
}

func (s *Server) logPanic(ctx context.Context, cause any) {
	s.Logger.ErrorContext(ctx, "panic", "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
}

// containUnary turns a panic of a call into an error.
func (s *Server) containUnary(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (answer any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.logPanic(ctx, cause)
			answer, err = nil, errPanic
		}
	}()
	return handler(ctx, request)
}

// containStream turns a panic of a call into an error.
func (s *Server) containStream(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.logPanic(stream.Context(), cause)
			err = errPanic
		}
	}()
	return handler(server, stream)
}
