package table

import (
	"context"
	"errors"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/engine"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/storage/objectstore"
)

// Clone creates a table from a version of another table. A shallow clone copies no rows: the new
// table has its own location and refers to the files of the source, which must stay. A deep clone
// copies all files. The request names the source by its location, as LanceDB clients do, so the
// source need not be in the catalog.
func (s *Service) Clone(ctx context.Context, req *tableapi.CloneRequest) (*tableapi.CloneResponse, error) {
	if err := protocol.RequireName(req.ID); err != nil {
		return nil, err
	}
	source, version, err := s.cloned(ctx, req)
	if err != nil {
		return nil, err
	}
	switch _, err := s.tables.Names.Table(ctx, req.ID); {
	case err == nil:
		return nil, naming.TableExists(req.ID)
	case protocol.CodeOf(err) != protocol.TableNotFound:
		return nil, err
	}
	location := s.tables.Names.Places.New(req.ID)
	deep := req.IsShallow != nil && !*req.IsShallow
	done, err := source.CloneTo(ctx, s.tables.Rows.Table(req.ID, location), version, deep)
	if engine.IsDeclared(err) {
		return nil, errNoTable
	}
	var made *catalog.Table
	if err == nil {
		made, err = s.nameClone(ctx, req.ID, location, uint64(done.Version))
	}
	if errors.Is(err, objectstore.ErrUnknownOutcome) {
		return nil, err // the name may refer to the clone already
	}
	if err != nil {
		return nil, errors.Join(err, claim.DeleteFiles(context.WithoutCancel(ctx), location))
	}
	first := transaction.Commit{Version: uint64(done.Version), UUID: done.Transaction}
	return &tableapi.CloneResponse{
		TransactionID: s.tables.Transactions.IDOfCommit(ctx, req.ID, first),
		Location:      made.Location.URI, Version: done.Version, Properties: made.Properties,
	}, nil
}

// nameClone gives a clone its name. The sender may read all files to which the clone refers, and
// the clone lends this right to every principal that may read it.
func (s *Service) nameClone(ctx context.Context, id []string, at objectstore.Location, version uint64) (*catalog.Table, error) {
	elsewhere, err := locations(ctx, s.tables.Rows.TableWith(id, at, engine.Options{Hint: version}))
	if err != nil {
		return nil, err
	}
	return s.tables.Names.CreateClone(ctx, id, at, version, elsewhere)
}

// cloned returns the table and the version to clone. A nil version means the newest. Errors refer
// to the source by the field source_location, because it need not be in the catalog.
func (s *Service) cloned(ctx context.Context, req *tableapi.CloneRequest) (source *engine.Table, version *int64, err error) {
	at, err := s.tables.Names.Places.Named(req.SourceLocation)
	if err != nil {
		return nil, nil, err
	}
	found, err := s.tables.Names.TableAt(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	source = s.tables.Unnamed([]string{"at source_location"}, found)
	if req.SourceTag == "" {
		return source, req.SourceVersion, nil
	}
	tag, _, err := source.Data().Refs().Tag(ctx, req.SourceTag)
	if err != nil {
		return nil, nil, source.Translate(err)
	}
	number := int64(tag.Version)
	source, err = source.On(ctx, tag.BranchName())
	return source, &number, err
}

// errNoTable is the error if the location contains no table. It does not quote the location,
// because the log would then contain it, and a location may contain a secret.
var errNoTable = &protocol.Error{
	Code: protocol.InvalidInput, Message: "there is no Lance table at the location: give the folder that holds the table's _versions folder",
}
