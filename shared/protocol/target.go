package protocol

import "strings"

// A Target is a table or a namespace that a request works on beside the object in its path: whoever sends
// the request must be allowed the operation there, too.
type Target struct {
	Operation string // name of what is done to it
	ID        []string
}

// Makes reports whether the operation gives a name to something new, so that there need be
// nothing at its path before.
func (o Operation) Makes() bool {
	_, verb, _ := strings.Cut(o.Path, "/{id}/")
	switch verb {
	case "create", "register", "declare", "clone":
		return true
	}
	return false
}

// Targets are the new name.
func (r *RenameTableRequest) Targets() []Target {
	return []Target{{Operation: "CreateTable", ID: r.NewID()}}
}

// Targets are the tables of the entries.
func (r *BatchCreateTableVersionsRequest) Targets() []Target {
	all := make([]Target, len(r.Entries))
	for i := range r.Entries {
		all[i] = Target{Operation: "CreateTableVersion", ID: r.Entries[i].ID}
	}
	return all
}

// Targets are the tables of the operations.
func (r *BatchCommitTablesRequest) Targets() []Target {
	all := make([]Target, len(r.Operations))
	for i := range r.Operations {
		all[i] = Target{Operation: r.Operations[i].name(), ID: r.Operations[i].TableID()}
	}
	return all
}

// name is the operation that a valid operation of a batch is by itself.
func (o *CommitTableOperation) name() string {
	switch {
	case o.Declare != nil:
		return "DeclareTable"
	case o.Create != nil:
		return "CreateTableVersion"
	case o.Delete != nil:
		return "BatchDeleteTableVersions"
	}
	return "DeregisterTable"
}
