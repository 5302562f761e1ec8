// Package ref implements the operations on tags and branches. A tag names a version; a branch is a
// separate sequence of versions that begins at a version of the table.
package ref

import (
	"tiltyard/shared/http/httpapi"
	"tiltyard/shared/tables"
)

// A Service implements the operations on tags and branches.
type Service struct{ tables tables.Tables }

// New returns the service over tables.
func New(tables tables.Tables) *Service { return &Service{tables: tables} }

// Routes returns the routes of the service.
func (s *Service) Routes() []httpapi.Route {
	return []httpapi.Route{
		httpapi.JSON("ListTableTags", s.ListTags),
		httpapi.JSON("GetTableTagVersion", s.TagVersion),
		httpapi.JSON("CreateTableTag", s.CreateTag),
		httpapi.JSON("UpdateTableTag", s.UpdateTag),
		httpapi.JSON("DeleteTableTag", s.DeleteTag),
		httpapi.JSON("ListTableBranches", s.ListBranches),
		httpapi.JSON("CreateTableBranch", s.CreateBranch),
		httpapi.JSON("DeleteTableBranch", s.DeleteBranch),
		httpapi.JSON("DiffTableBranches", s.DiffBranch),
		httpapi.JSON("CherryPickTableBranch", s.CherryPick),
	}
}
