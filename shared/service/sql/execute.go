package sql

import (
	"context"
	"errors"
	"slices"

	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/service/query"
	"tiltyard/shared/sql"
	"tiltyard/shared/sql/syntax"
	"tiltyard/shared/storage/objectstore"
)

// Execute runs a statement: a query as package query does, and a command as the operation that does the same.
func (s *Service) Execute(ctx context.Context, req *queryapi.StatementRequest) (*protocol.Rows, error) {
	parameters, err := query.Parameters(req.Parameters)
	if err != nil {
		return nil, err
	}
	command, err := syntax.ParseCommand(req.Query, parameters)
	if err != nil {
		return nil, ofStatement(err)
	}
	switch command.(type) {
	case nil:
		return s.queries.Execute(ctx, req)
	case *syntax.Show, *syntax.Describe: // these read, and their columns are known when they have run
	default:
		if req.Describe != queryapi.DescribeNothing {
			return nil, protocol.Errorf(protocol.Unsupported, "describe: the statement changes something; its answer is known when it has run")
		}
	}
	rows, err := s.run(ctx, &statement{req}, command)
	return rows, ofStatement(err)
}

// ofStatement turns an error with a place in the statement into an error for the client. Errors of operations are that
// already, and their places are in the fields that they name.
func ofStatement(err error) error {
	var known *protocol.Error
	if errors.As(err, &known) {
		return err
	}
	return apierror.OfExpression("query", err)
}

// run runs a command.
func (s *Service) run(ctx context.Context, in *statement, command syntax.Command) (*protocol.Rows, error) {
	switch c := command.(type) {
	case *syntax.CreateView:
		return s.createView(ctx, in, c)
	case *syntax.RefreshView:
		return s.refreshView(ctx, in, c)
	case *syntax.Show:
		return s.show(ctx, in, c)
	case *syntax.Describe:
		return s.describe(ctx, in, c)
	case *syntax.Drop:
		return s.drop(ctx, in, c)
	case *syntax.Delete:
		return s.delete(ctx, in, c)
	case *syntax.Update:
		return s.update(ctx, in, c)
	case *syntax.Insert:
		return s.insert(ctx, in, c)
	case *syntax.Merge:
		return s.merge(ctx, in, c)
	case *syntax.CreateTable:
		return s.createTable(ctx, in, c)
	case *syntax.CreateNamespace:
		return s.createNamespace(ctx, in, c)
	case *syntax.CreateIndex:
		return s.createIndex(ctx, in, c)
	case *syntax.CreateTag:
		return s.createTag(ctx, in, c)
	case *syntax.CreateBranch:
		return s.createBranch(ctx, in, c)
	case *syntax.AlterTable:
		return s.alterTable(ctx, in, c)
	case *syntax.Optimize:
		return s.optimize(ctx, in, c)
	}
	return nil, sql.Errorf(sql.ErrUnsupported, sql.NoPos, "a statement of this kind")
}

// A statement is a request whose query is a command.
type statement struct{ *queryapi.StatementRequest }

// id returns the id of an object by its name in the statement. A single name is in the namespace of the request.
func (in *statement) id(name []string) []string {
	if len(name) == 1 {
		return slices.Concat(in.NamespaceID, name)
	}
	return name
}

// namespace returns the id of a namespace by its name in the statement, or that of the request.
func (in *statement) namespace(name []string) []string {
	if name == nil {
		return slices.Clone(in.NamespaceID)
	}
	return in.id(name)
}

// of returns the common part of a request about an object.
func (in *statement) of(id []string) protocol.Common {
	return protocol.Common{ID: id, Delimiter: protocol.DefaultDelimiter, Context: in.Context}
}

// part returns the request of a query within the statement.
func (in *statement) part(p *syntax.Part) *queryapi.StatementRequest {
	req := *in.StatementRequest
	req.Query, req.Parameters = p.Text, nil
	for _, name := range p.Parameters {
		if req.Parameters == nil {
			req.Parameters = map[string]jsonValue{}
		}
		req.Parameters[name] = in.Parameters[name]
	}
	return &req
}

// admit makes the checks of permit. The audit has the operation instead of the statement.
func admit(ctx context.Context, operation string, req protocol.Request) (context.Context, error) {
	op, known := operations.Lookup(operation)
	if !known {
		return nil, protocol.Errorf(protocol.Internal, "no operation is called %s", operation)
	}
	if err := protocol.CheckID(req.RequestCommon().ID); err != nil {
		return nil, err
	}
	if err := httpapi.Performs(ctx, op, req.RequestCommon().ID); err != nil {
		return nil, err
	}
	return permit(ctx, op, req)
}

// permit makes the checks that the handler makes before it calls a service: of the rights to the operation and of the
// request. The returned context is for the work.
func permit(ctx context.Context, op protocol.Operation, req protocol.Request) (context.Context, error) {
	id := req.RequestCommon().ID
	if principal := auth.FromContext(ctx); principal != nil && !auth.Limited(ctx) { // else policies decide
		if err := auth.Authorize(principal, op); err != nil {
			return nil, err
		}
	}
	if err := auth.Admit(ctx, op.Name, id); err != nil {
		return nil, err
	}
	if v, ok := req.(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return nil, err
		}
	}
	if several, ok := req.(interface{ Targets() []protocol.Target }); ok {
		for _, target := range several.Targets() {
			if err := auth.Admit(ctx, target.Operation, target.ID); err != nil {
				return nil, err
			}
		}
	}
	if op.Frees {
		ctx = objectstore.Freeing(ctx)
	}
	return ctx, nil
}

// do performs an operation.
func do[Req protocol.Request, Resp any](ctx context.Context, operation string, req Req, serve func(context.Context, Req) (Resp, error)) (Resp, error) {
	ctx, err := admit(ctx, operation, req)
	if err != nil {
		var none Resp
		return none, err
	}
	return serve(ctx, req)
}
