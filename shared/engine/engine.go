// Package engine answers and changes rows: it scans, filters, searches, inserts and
// merges, on tables that others have found for it. It knows nothing of names beyond
// what it needs to word an error, and nothing of HTTP.
//
// A query becomes a scan of the columns that its filter and its search need, a choice of
// rows, and a fetch of the other columns for just those rows. A write becomes new data
// files, deletion vectors, and one commit.
package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/jsonb"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// An Engine works on the tables of one process. It is safe for concurrent use.
type Engine struct {
	session *dataset.Session
	limits  Limits
}

// Limits bound what one request may hold. Zero values are the defaults.
type Limits struct {
	MergeBytes int64 // rows of a merge's source, most of them in the scratch directory; default 16 GiB
	TopK       int   // rows of a search or sort in memory; default 100,000

	heldBytes  int64 // rows of a merge's source that are held in memory; default 64 MiB
	mappedRows int   // rows of a merge's source in one map; default 512 Ki
}

// New returns an engine over a session.
func New(session *dataset.Session, limits Limits) *Engine {
	if limits.MergeBytes == 0 {
		limits.MergeBytes = 16 << 30
	}
	if limits.heldBytes == 0 {
		limits.heldBytes = 64 << 20
	}
	if limits.mappedRows == 0 {
		limits.mappedRows = 512 << 10
	}
	if limits.TopK == 0 {
		limits.TopK = 100_000
	}
	return &Engine{session: session, limits: limits}
}

// A Table is a table as the engine works on it.
type Table struct {
	engine *Engine
	name   string // for messages
	data   *dataset.Table

	onBranch bool    // of a table, and not the table itself
	attempt  Attempt // nil: changes are made as often as they are asked for
}

// Table returns the table of the given id, whose data is at a location and has, or had,
// the version hint; 0 when none is known.
func (e *Engine) Table(id []string, at objectstore.Location, hint uint64) *Table {
	return &Table{engine: e, name: strings.Join(id, "$"), data: e.session.Table(at, hint)}
}

// Sole is [dataset.Table.Sole].
func (t *Table) Sole() *Table {
	sole := *t
	sole.data = t.data.Sole()
	return &sole
}

// PublishWith is [dataset.Table.PublishWith].
func (t *Table) PublishWith(publish dataset.Publisher) *Table {
	published := *t
	published.data = t.data.PublishWith(publish)
	return &published
}

// ReachWith is [dataset.Table.ReachWith].
func (t *Table) ReachWith(reach dataset.Reach) *Table {
	reaching := *t
	reaching.data = t.data.ReachWith(reach)
	return &reaching
}

// Elsewhere returns the places outside of the table's own that its newest version, or that of
// a given number, has files at.
func (t *Table) Elsewhere(ctx context.Context, number *int64) ([]objectstore.Location, error) {
	return Read(ctx, t, number, func(_ context.Context, d *dataset.Dataset) ([]objectstore.Location, error) { return d.Elsewhere() })
}

// Read does work on a version of the table, the newest when version is nil; see
// [dataset.Read] for how it saves a round trip. Errors are the protocol's.
func Read[T any](ctx context.Context, t *Table, version *int64, work func(context.Context, *dataset.Dataset) (T, error)) (T, error) {
	checked := func(ctx context.Context, d *dataset.Dataset) (T, error) {
		result, err := work(ctx, d)
		return result, t.cleanedUp(ctx, d, err)
	}
	var result T
	var err error
	if version != nil {
		result, err = dataset.ReadVersion(ctx, t.data, uint64(*version), checked)
		return result, t.translate(err)
	}
	if result, err = dataset.Read(ctx, t.data, checked); errors.Is(err, dataset.ErrNoVersion) {
		// The newest version known is gone, or another table's now. It is forgotten.
		result, err = dataset.Read(ctx, t.data, checked)
	}
	return result, t.translate(err)
}

// cleanedUp makes the absence of a file the absence of the version that names it, when
// that is gone too: a cleanup removes both.
func (t *Table) cleanedUp(ctx context.Context, d *dataset.Dataset, err error) error {
	if !errors.Is(err, objectstore.ErrNotExist) {
		return err
	}
	there, asked := t.data.Has(ctx, d)
	if there || asked != nil {
		return errors.Join(err, asked)
	}
	return fmt.Errorf("%w: %w", dataset.ErrNoVersion, err)
}

// Newest returns the number of the newest version. See IsDeclared for a table without.
func (t *Table) Newest(ctx context.Context) (uint64, error) {
	d, err := t.data.Latest(ctx)
	if err != nil {
		return 0, t.translate(err)
	}
	return d.Version(), nil
}

// HasData says whether the table has a version, or is only declared.
func (t *Table) HasData(ctx context.Context) (bool, error) {
	_, err := t.Newest(ctx)
	if IsDeclared(err) {
		return false, nil
	}
	return err == nil, err
}

// translate gives errors of the layers below their name in the protocol.
func (t *Table) translate(err error) error {
	var known *protocol.Error
	var column *dataset.ErrNoColumn
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case errors.Is(err, objectstore.ErrUnknownOutcome):
		return &protocol.Error{
			Code: protocol.ServiceUnavailable, Message: "the storage did not tell whether the write happened",
			Detail: "look at the table before you retry", Unsettled: true, Err: err,
		}
	case errors.Is(err, dataset.ErrNoTable) && t.onBranch:
		// It is not declared: nobody may make a table there.
		return protocol.Errorf(protocol.TableBranchNotFound, "table %s has no versions", t.name)
	case errors.Is(err, dataset.ErrNoBranch):
		return &protocol.Error{Code: protocol.TableBranchNotFound, Message: fmt.Sprintf("table %s: %v", t.name, err), Err: err}
	case errors.Is(err, dataset.ErrNoTable):
		return &protocol.Error{
			Code: protocol.TableNotFound, Message: fmt.Sprintf("table %s has no data", t.name),
			Detail: "the table is declared, but nothing has been written to it yet", Err: err,
		}
	case errors.Is(err, dataset.ErrNoVersion):
		return &protocol.Error{
			Code: protocol.TableVersionNotFound, Message: fmt.Sprintf("table %s has no such version", t.name), Err: err,
		}
	case errors.As(err, &column):
		return noColumn(column)
	case errors.Is(err, dataset.ErrNoIndex):
		return &protocol.Error{Code: protocol.TableIndexNotFound, Message: fmt.Sprintf("table %s: %v", t.name, err), Err: err}
	case errors.Is(err, dataset.ErrConflict):
		return &protocol.Error{
			Code: protocol.ConcurrentModification, Message: fmt.Sprintf("table %s was changed by another writer", t.name),
			Detail: "the changes exclude each other: " + err.Error() + "; read the table again and retry", Err: err,
		}
	case errors.Is(err, dataset.ErrRefName), errors.Is(err, dataset.ErrRefInUse), errors.Is(err, operation.ErrInvalid), errors.Is(err, jsonb.ErrSyntax):
		return &protocol.Error{Code: protocol.InvalidInput, Message: err.Error(), Err: err}
	case errors.Is(err, schema.ErrMismatch), errors.Is(err, schema.ErrBounds):
		return &protocol.Error{Code: protocol.TableSchemaValidationError, Message: err.Error(), Err: err}
	case errors.Is(err, lance.ErrUnsupported):
		return &protocol.Error{Code: protocol.Unsupported, Message: err.Error(), Err: err}
	case errors.Is(err, objectstore.ErrLocation):
		return &protocol.Error{
			Code: protocol.InvalidTableState, Damaged: true, Message: fmt.Sprintf("table %s names files that are out of reach", t.name),
			Detail: "they lie outside of the places that the server may read", Err: fmt.Errorf("table %s: %w", t.name, err),
		}
	case isDamage(err):
		// What is wrong with which file is for the log: it tells of the inside of the storage.
		return &protocol.Error{
			Code: protocol.InvalidTableState, Damaged: true, Message: fmt.Sprintf("table %s is damaged", t.name),
			Detail: "a file of the table is missing or malformed; the log of the server says which, under the id of this request",
			Err:    fmt.Errorf("table %s: %w", t.name, err),
		}
	}
	return fmt.Errorf("table %s: %w", t.name, err)
}

// isDamage says whether an error comes of what is stored of a table: a file is malformed or too
// short, or its manifest names one that is not there, or that could not be.
func isDamage(err error) bool {
	return errors.Is(err, lance.ErrCorrupt) || errors.Is(err, objectstore.ErrNotExist) ||
		errors.Is(err, objectstore.ErrInvalidRange) || errors.Is(err, objectstore.ErrInvalidKey)
}

// exists gives ErrTableExists its name.
func exists(err error, name string) error {
	if errors.Is(err, dataset.ErrTableExists) {
		return &protocol.Error{Code: protocol.TableAlreadyExists, Message: fmt.Sprintf("table %s already exists", name), Err: err}
	}
	return err
}

func noColumn(err *dataset.ErrNoColumn) error {
	const most = 50
	have := err.Have
	if len(have) > most {
		have = append(have[:most:most], "…")
	}
	return &protocol.Error{
		Code:    protocol.TableColumnNotFound,
		Message: fmt.Sprintf("column %q does not exist", err.Name),
		Detail:  "the table has the columns " + strings.Join(have, ", "),
		Err:     err,
	}
}

// Do is Read for work without a result of its own.
func Do(ctx context.Context, t *Table, version *int64, work func(context.Context, *dataset.Dataset) error) error {
	_, err := Read(ctx, t, version, func(ctx context.Context, d *dataset.Dataset) (struct{}, error) {
		return struct{}{}, work(ctx, d)
	})
	return err
}

// IsDeclared says whether an error is that of a table to which nothing has been written.
func IsDeclared(err error) bool { return errors.Is(err, dataset.ErrNoTable) }
