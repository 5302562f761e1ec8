package sql

import (
	"context"
	"strings"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/viewapi"
	"tiltyard/shared/sql/syntax"
)

// missing has the code of the error for a missing object of each kind.
var missing = map[syntax.DropKind]protocol.Code{
	syntax.DropTable: protocol.TableNotFound, syntax.DropView: protocol.TableNotFound, syntax.DropMaterializedView: protocol.TableNotFound,
	syntax.DropNamespace: protocol.NamespaceNotFound, syntax.DropIndex: protocol.TableIndexNotFound,
	syntax.DropTag: protocol.TableTagNotFound, syntax.DropBranch: protocol.TableBranchNotFound,
}

// drop removes an object.
func (s *Service) drop(ctx context.Context, in *statement, c *syntax.Drop) (*protocol.Rows, error) {
	id := in.id(c.Name)
	what := strings.ToLower(string(c.Kind)) + " " + syntax.TableName(id)
	if c.Label != "" {
		what = strings.ToLower(string(c.Kind)) + " " + syntax.TableName([]string{c.Label}) + " of " + syntax.TableName(id)
	}
	warning, err := s.dropObject(ctx, in.of(id), c)
	switch {
	case c.IfExists && protocol.HasCode(err, missing[c.Kind]):
		return done("there is no "+what, 0), nil
	case err != nil:
		return nil, err
	}
	return done(warned("dropped "+what, warning), 0), nil
}

// dropObject calls the operation for the kind of an object.
func (s *Service) dropObject(ctx context.Context, common protocol.Common, c *syntax.Drop) (warning string, err error) {
	switch c.Kind {
	case syntax.DropTable:
		gone, err := do(ctx, "DropTable", &tableapi.DropRequest{Common: common}, s.names.Drop)
		if err != nil {
			return "", err
		}
		return gone.Warning, nil
	case syntax.DropMaterializedView:
		gone, err := do(ctx, "DropMaterializedView", &viewapi.MaterializedRequest{Common: common}, s.views.DropMaterialized)
		if err != nil {
			return "", err
		}
		return gone.Warning, nil
	case syntax.DropView:
		_, err = do(ctx, "DropView", &viewapi.Request{Common: common}, s.views.DropPlain)
	case syntax.DropNamespace:
		return s.dropNamespace(ctx, common, c)
	case syntax.DropIndex:
		_, err = do(ctx, "DropTableIndex", &indexapi.DropRequest{Common: common, IndexName: c.Label, Branch: c.Branch}, s.indices.Drop)
	case syntax.DropTag:
		_, err = do(ctx, "DeleteTableTag", &refapi.DeleteTagRequest{Common: common, Tag: c.Label}, s.refs.DeleteTag)
	case syntax.DropBranch:
		_, err = do(ctx, "DeleteTableBranch", &refapi.DeleteBranchRequest{Common: common, Name: c.Label}, s.refs.DeleteBranch)
	}
	return "", err
}

// dropNamespace drops a namespace, in a job if there is much in it.
func (s *Service) dropNamespace(ctx context.Context, common protocol.Common, c *syntax.Drop) (warning string, err error) {
	req := &namespaceapi.DropRequest{Common: common}
	if c.Cascade {
		req.Behavior = namespaceapi.DropBehaviorCascade
	}
	gone, err := do(ctx, "DropNamespace", req, s.namespaces.Drop)
	if err != nil || len(gone.TransactionID) == 0 {
		return "", err
	}
	return "job " + strings.Join(gone.TransactionID, " ") + " drops what is in it", nil
}
