// Package table implements the operations on whole tables, such as create, describe and drop.
package table

import (
	"context"

	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/tables"
)

// A Service implements the operations on tables.
type Service struct {
	tables    tables.Tables
	positions positionKey // encrypts the page tokens of searches
}

// New returns the service over tables.
func New(tables tables.Tables) *Service { return &Service{tables, newPositionKey()} }

// changed returns the transaction id of a change.
func (s *Service) changed(ctx context.Context, operation string, id []string, properties map[string]string) string {
	return s.tables.Transactions.IDOfChange(ctx, transaction.Change{Operation: operation, Object: id, Properties: properties})
}

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.JSON("ListTables", s.List),
		httpapi.JSON("ListAllTables", s.ListAll),
		httpapi.JSON("FindTables", s.Find),
		httpapi.JSON("RegisterTable", s.Register),
		httpapi.JSON("DescribeTable", s.Describe),
		httpapi.JSON("TableExists", s.Exists),
		httpapi.JSON("DropTable", s.Drop),
		httpapi.JSON("DeregisterTable", s.Deregister),
		httpapi.JSON("DeclareTable", s.Declare),
		httpapi.JSON("RenameTable", s.Rename),
		httpapi.JSON("CloneTable", s.Clone),
		httpapi.JSON("UndropTable", s.Undrop),
		httpapi.JSON("PurgeTable", s.Purge),
		httpapi.JSON("GetTableStats", s.Stats),
		httpapi.JSON("GetTableStorage", s.Storage),
	}
}
