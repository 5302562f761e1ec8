// Package engine reads and changes the rows of tables. Its callers find the tables. The engine uses
// names only in the texts of errors, and does not know HTTP.
//
//	query      answers queries: scans and searches; narrow and probe use indices for them
//	merge      decides what a merge adds and removes
//	condition  resolves SQL expressions against a table
//	failure    turns errors of the layers below into those of the protocol
//	wal        refuses what a write-ahead log of native writers would be needed for
//
// Packages above it work on its tables:
//
//	blobs, history        read values of blob columns, and what made each version
//	evolution, fill       change columns, and compute the values of computed ones
//	indices, maintenance  make indices, and keep tables small and fast
//
// This package holds what every operation on a table has in common: which version it works on, what
// happens when another writer commits first, and what a caller is told. A write makes new data files
// and deletion files, and one commit.
//
// In this package, an attempt is a request that carries an id to its commit (attempt.go); a batch
// is an Arrow record batch; an address is the fragment and the offset of a row.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"tiltyard/shared/engine/apierror"
	"tiltyard/shared/engine/internal/prefilter"
	"tiltyard/shared/engine/query"
	"tiltyard/shared/engine/selection"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/jsonb"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/schema"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/objectstore"
)

// An Engine works on tables. It is safe for concurrent use.
type Engine struct {
	// Logger is told what went on in another way than it should; nil: nobody is. It is set
	// before the engine is used.
	Logger *slog.Logger
	// NewTables says what tables are like whose creator does not say. It is set before the first use.
	NewTables dataset.CreateOptions

	session *dataset.Session
	limits  Limits
	planner *query.Planner
}

// Limits bound what one request may hold. Zero values mean the defaults.
type Limits struct {
	MergeBytes int64 // size of a merge's source, most of which lies in the scratch directory; default 16 GiB
	TopK       int   // rows of a search or sort that are held in memory; default 100,000

	HeldBytes  int64   // size of the part of a merge's source that is held in memory; default 64 MiB
	MappedRows int     // rows of a merge's source that fit into one map; default 512 Ki
	IndexBytes int64   // columns of a filter that take less are read without an index; default 256 KiB
	IndexShare float64 // part of an index that may be read to find rows; default 1/8
}

// New returns an engine over a session.
func New(session *dataset.Session, limits Limits) *Engine {
	if limits.MergeBytes == 0 {
		limits.MergeBytes = 16 << 30
	}
	if limits.HeldBytes == 0 {
		limits.HeldBytes = 64 << 20
	}
	if limits.MappedRows == 0 {
		limits.MappedRows = 512 << 10
	}
	if limits.IndexBytes == 0 {
		limits.IndexBytes = 256 << 10
	}
	if limits.IndexShare == 0 {
		limits.IndexShare = 1.0 / 8
	}
	if limits.TopK == 0 {
		limits.TopK = 100_000
	}
	e := &Engine{session: session, limits: limits}
	e.planner = &query.Planner{
		TopK: limits.TopK, Policy: prefilter.Policy{Bytes: limits.IndexBytes, Share: limits.IndexShare, Warn: e.warn},
	}
	return e
}

// warn writes a line into the log.
func (e *Engine) warn(ctx context.Context, message string, about ...slog.Attr) {
	if e.Logger != nil {
		e.Logger.LogAttrs(ctx, slog.LevelWarn, message, about...)
	}
}

// A Table is a table as the engine works on it.
type Table struct {
	engine *Engine
	name   string // the table's name in messages
	data   *dataset.Table

	onBranch bool    // the table is a branch
	attempt  Attempt // nil: a change that is asked for twice is made twice

	view *selection.Query // what reads of rows see of the table; nil: all of it
}

// Table returns the table with the given id and location. hint is a version that the table has or
// had, 0 when none is known.
func (e *Engine) Table(id []string, at objectstore.Location, hint uint64) *Table {
	return &Table{engine: e, name: strings.Join(id, "$"), data: e.session.Table(at, hint)}
}

// Seen returns the table as a view shows it: [Table.Query], [Table.Count], [Table.Explain] and
// [Table.Analyze] answer with the rows and columns of the view. All else is about the table.
func (t *Table) Seen(by *selection.Query) *Table {
	seen := *t
	seen.view = by
	return &seen
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

// ConfirmWith is [dataset.Table.ConfirmWith].
func (t *Table) ConfirmWith(confirm func() error) *Table {
	confirming := *t
	confirming.data = t.data.ConfirmWith(confirm)
	return &confirming
}

// ReachWith is [dataset.Table.ReachWith].
func (t *Table) ReachWith(reach snapshot.Reach) *Table {
	reaching := *t
	reaching.data = t.data.ReachWith(reach)
	return &reaching
}

// Read does work on a version of the table, the newest when version is nil. It begins on the version that the process
// knows; see [dataset.Table.Begin]. So the work may be done twice, and must not commit anything; see [Settled]. The
// context of the work stays valid after Read returns, because a result may continue to read, unless the result is
// discarded. Errors are protocol errors.
func Read[T any](ctx context.Context, t *Table, version *int64, work func(context.Context, *dataset.Dataset) (T, error)) (T, error) {
	checked := func(ctx context.Context, d *dataset.Dataset) (T, error) {
		result, err := work(ctx, d)
		return result, t.cleanedUp(ctx, d, err)
	}
	if version != nil {
		number := uint64(*version)
		result, err := read(ctx, t, &number, checked)
		return result, t.Translate(err)
	}
	result, err := read(ctx, t, nil, checked)
	if errors.Is(err, dataset.ErrNoVersion) {
		// The newest known version is gone, or belongs to another table now. The dataset has
		// forgotten it.
		result, err = read(ctx, t, nil, checked)
	}
	return result, t.Translate(err)
}

func read[T any](ctx context.Context, t *Table, number *uint64, work func(context.Context, *dataset.Dataset) (T, error)) (T, error) {
	var none T
	d, confirm, err := t.data.Begin(ctx, number)
	switch {
	case err != nil:
		return none, err
	case confirm == nil:
		return work(ctx, d)
	}
	attempt, discard := context.WithCancel(ctx)
	result, err := work(attempt, d)
	switch right, wrong := confirm(); {
	case wrong != nil:
		discard()
		return none, wrong
	case right != nil:
		discard()
		return work(ctx, right)
	}
	context.AfterFunc(ctx, discard)
	return result, err
}

// Settled is Read for work that commits: it does the work once, when it is settled which version that is.
func Settled[T any](ctx context.Context, t *Table, version *int64, work func(context.Context, *dataset.Dataset) (T, error)) (T, error) {
	d, err := Read(ctx, t, version, func(_ context.Context, d *dataset.Dataset) (*dataset.Dataset, error) { return d, nil })
	if err != nil {
		var none T
		return none, err
	}
	result, err := work(ctx, d)
	return result, t.Translate(t.cleanedUp(ctx, d, err))
}

// cleanedUp turns the error for a missing file into the error for a missing version if the version
// is gone too, because a cleanup removes both.
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

// Newest returns the number of the newest version. For a declared table, IsDeclared is true for the
// error.
func (t *Table) Newest(ctx context.Context) (uint64, error) {
	d, err := t.data.Latest(ctx)
	if err != nil {
		return 0, t.Translate(err)
	}
	return d.Version(), nil
}

// CheckWritable returns an error when the newest version needs something to be written that this
// service does not have, such as the write-ahead log of a native writer.
func (t *Table) CheckWritable(ctx context.Context) error {
	return Do(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) error { return operation.CheckWritable(d.Manifest()) })
}

// HasData reports whether the table has a version. A declared table has none.
func (t *Table) HasData(ctx context.Context) (bool, error) {
	_, err := t.Newest(ctx)
	if IsDeclared(err) {
		return false, nil
	}
	return err == nil, err
}

// Name returns the name of the table, or of the branch, in messages.
func (t *Table) Name() string { return t.name }

// IsBranch reports whether the table is a branch.
func (t *Table) IsBranch() bool { return t.onBranch }

// Warn writes a line about the table into the log of the engine.
func (t *Table) Warn(ctx context.Context, message string, err error) {
	t.engine.warn(ctx, message, slog.String("table", t.name), slog.Any("error", err))
}

// Data returns the table as the format knows it: its tags, branches and versions. Its errors are those of the layers
// below; see [Table.Translate].
func (t *Table) Data() *dataset.Table { return t.data }

// Translate turns errors of the layers below into protocol errors. It leaves those as they are that are translated.
func (t *Table) Translate(err error) error {
	var known *protocol.Error
	var translated *tableError
	var column *snapshot.ErrNoColumn
	var named *refs.NameError
	switch {
	case err == nil || errors.As(err, &known) || errors.As(err, &translated):
		return err
	case errors.Is(err, objectstore.ErrUnknownOutcome):
		return &protocol.Error{
			Code: protocol.ServiceUnavailable, Message: "the answer of the storage was lost, so the write may or may not have happened",
			Detail: "read the table before you retry", Unsettled: true, Err: err,
		}
	case errors.Is(err, dataset.ErrNoTable) && t.onBranch:
		// This is not a declared table: no client may create a table in the folder of a branch.
		return protocol.Errorf(protocol.TableBranchNotFound, "table %s has no versions", t.name)
	case errors.As(err, &named):
		return t.nameError(named)
	case errors.Is(err, refs.ErrNoBranch):
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
		return apierror.NoColumn(column)
	case errors.Is(err, snapshot.ErrNoIndex):
		return &protocol.Error{Code: protocol.TableIndexNotFound, Message: fmt.Sprintf("table %s: %v", t.name, err), Err: err}
	case errors.Is(err, segments.ErrExists):
		return &protocol.Error{
			Code: protocol.TableIndexAlreadyExists, Message: fmt.Sprintf("table %s: %v", t.name, err),
			Detail: `choose another name; "replace": true replaces an index of the same column`, Err: err,
		}
	case errors.Is(err, dataset.ErrConflict):
		return &protocol.Error{
			Code: protocol.ConcurrentModification, Message: fmt.Sprintf("another writer has changed table %s", t.name),
			Detail: "the two changes conflict: " + err.Error() + "; read the table again and retry", Err: err,
		}
	case errors.Is(err, refs.ErrName), errors.Is(err, refs.ErrInUse), errors.Is(err, operation.ErrInvalid), errors.Is(err, jsonb.ErrSyntax):
		return &protocol.Error{Code: protocol.InvalidInput, Message: err.Error(), Err: err}
	case errors.Is(err, schema.ErrMismatch), errors.Is(err, schema.ErrBounds), errors.Is(err, schema.ErrName):
		return &protocol.Error{Code: protocol.TableSchemaValidationError, Message: err.Error(), Err: err}
	case errors.Is(err, lance.ErrUnsupported):
		return &protocol.Error{Code: protocol.Unsupported, Message: err.Error(), Err: err}
	case errors.Is(err, objectstore.ErrLocation):
		return &protocol.Error{
			Code: protocol.InvalidTableState, Damaged: true, Message: fmt.Sprintf("table %s refers to files that the server may not read", t.name),
			Detail: "they lie outside of the locations that the server may read", Err: fmt.Errorf("table %s: %w", t.name, err),
		}
	case snapshot.IsDamage(err):
		// The cause names files, which clients must not see, so it appears only in the log.
		return &protocol.Error{
			Code: protocol.InvalidTableState, Damaged: true, Message: fmt.Sprintf("table %s is damaged", t.name),
			Detail: "a file of the table is missing or malformed; the log of the server names it under the id of this request",
			Err:    fmt.Errorf("table %s: %w", t.name, err),
		}
	}
	return &tableError{t.name, err}
}

// nameError turns an error about the name of a tag or a branch into a protocol error.
func (t *Table) nameError(e *refs.NameError) error {
	code, message := protocol.TableTagNotFound, fmt.Sprintf("table %s has no %s %q", t.name, e.What, e.Name)
	if errors.Is(e, refs.ErrExists) {
		code, message = protocol.TableTagAlreadyExists, fmt.Sprintf("table %s already has a %s %q", t.name, e.What, e.Name)
		if e.What == "branch" {
			code = protocol.TableBranchAlreadyExists
		}
	}
	return &protocol.Error{Code: code, Message: message, Err: e}
}

// A tableError is a fault that the protocol has no word for, at a table.
type tableError struct {
	table string
	err   error
}

// Error names the table.
func (e *tableError) Error() string { return fmt.Sprintf("table %s: %v", e.table, e.err) }

// Unwrap returns the fault.
func (e *tableError) Unwrap() error { return e.err }

// exists turns ErrTableExists into a protocol error.
func exists(err error, name string) error {
	if errors.Is(err, dataset.ErrTableExists) {
		return &protocol.Error{Code: protocol.TableAlreadyExists, Message: fmt.Sprintf("table %s already exists", name), Err: err}
	}
	return err
}

// Do is Read for work without a result.
func Do(ctx context.Context, t *Table, version *int64, work func(context.Context, *dataset.Dataset) error) error {
	_, err := Read(ctx, t, version, func(ctx context.Context, d *dataset.Dataset) (struct{}, error) {
		return struct{}{}, work(ctx, d)
	})
	return err
}

// IsDeclared reports whether an error means that the table is only declared and has no version.
func IsDeclared(err error) bool { return errors.Is(err, dataset.ErrNoTable) }
