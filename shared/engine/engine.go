// Package engine reads and changes the rows of tables. Its callers locate the tables; the engine
// uses table names in error messages only, and is independent of HTTP.
//
//	query                internal packages annsearch and prefilter let queries use indices
//	merge                plans the rows that a merge adds and removes
//	internal/condition   resolves SQL expressions against a table
//	apierror             turns errors of expressions and columns into protocol errors
//	wal                  refuses tables that need the write-ahead log of native writers
//
// Packages above it work on its tables:
//
//	blobs, history        read values of blob columns, and the transactions of versions
//	evolution, fill       change columns, and compute the values of computed ones
//	indices, maintenance  make indices, and keep tables small and fast
//
// This package holds the parts that all operations on a table have in common: the choice of the
// version, the retry after a conflicting commit, and the errors that callers get. A write makes new
// data files and deletion files, and one commit.
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
	// Logger receives warnings. Nil disables logging. It is set before the engine is used.
	Logger *slog.Logger
	// NewTables holds the default options of new tables. It is set before the engine is used.
	NewTables dataset.CreateOptions

	session *dataset.Session
	limits  Limits
	planner *query.Planner
}

// Limits bound the resources of one request. Zero values mean the defaults.
type Limits struct {
	MergeBytes int64 // bytes of a merge's source, most of them in the scratch directory; default 16 GiB
	TopK       int   // rows of a search or sort in memory; default 100,000

	HeldBytes  int64   // bytes of a merge's source in memory; default 64 MiB
	MappedRows int     // rows of a merge's source in one map; default 512 Ki
	IndexBytes int64   // a filter reads columns of fewer bytes without an index; default 256 KiB
	IndexShare float64 // a filter reads at most this part of an index; default 1/8
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

// CacheUsage returns the usage of the cache of table data.
func (e *Engine) CacheUsage() dataset.CacheUsage { return e.session.CacheUsage() }

// warn logs a warning.
func (e *Engine) warn(ctx context.Context, message string, about ...slog.Attr) {
	if e.Logger != nil {
		e.Logger.LogAttrs(ctx, slog.LevelWarn, message, about...)
	}
}

// A Table performs the engine's operations on one table or branch.
type Table struct {
	engine *Engine
	name   string // for messages
	data   *dataset.Table

	onBranch bool    // the table is a branch
	attempt  Attempt // nil: retries are not detected

	view *selection.Query // the rows and columns that reads can see; nil: all

	spread *query.Spread // runs parts of queries elsewhere; nil: nothing does
}

// Options describe a table to open. The zero value is right for every table.
type Options struct {
	Hint        uint64            // a version that the table has or had, 0 if none is known; saves requests to find the newest version
	Exclusive   bool              // no other table had the location or will get it; cached versions then need fewer checks
	Publish     dataset.Publisher // makes a version visible; nil: a conditional put
	CheckAccess snapshot.Reach    // checks the locations outside of the table that it refers to; nil: all roots are readable
}

// Table opens the table with the given id at a location. It sends no request.
func (e *Engine) Table(id []string, at objectstore.Location) *Table {
	return e.TableWith(id, at, Options{})
}

// TableWith is [Engine.Table] with options.
func (e *Engine) TableWith(id []string, at objectstore.Location, opts Options) *Table {
	data := e.session.Table(at, opts.Hint)
	if opts.Exclusive {
		data = data.Sole()
	}
	if opts.Publish != nil {
		data = data.PublishWith(opts.Publish)
	}
	if opts.CheckAccess != nil {
		data = data.ReachWith(opts.CheckAccess)
	}
	return &Table{engine: e, name: strings.Join(id, "$"), data: data}
}

// WithView returns the table as it appears through a view: [Table.Query], [Table.Count], [Table.Explain] and
// [Table.Analyze] return the rows and columns of the view. All other methods ignore the view.
func (t *Table) WithView(view *selection.Query) *Table {
	viewed := *t
	viewed.view = view
	return &viewed
}

// SpreadWith returns the table with a way to run parts of large queries elsewhere.
func (t *Table) SpreadWith(s *query.Spread) *Table {
	spreading := *t
	spreading.spread = s
	return &spreading
}

// ConfirmWith returns the table with a check that runs while the files of a commit are written. An error prevents the
// commit.
func (t *Table) ConfirmWith(confirm func() error) *Table {
	confirming := *t
	confirming.data = t.data.ConfirmWith(confirm)
	return &confirming
}

// Read calls work with a version of the table, the newest if version is nil. To save a request, it begins on the version
// cached in the process while it checks for a newer one; see [dataset.Table.Begin]. If there is one, it calls work again,
// so work must not commit; see [Settled]. The context of a returned result stays valid after Read, because the result may
// still read. Errors are protocol errors.
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
		// The cached version was cleaned up, or the location has another table now. The failed read has
		// removed it from the cache.
		result, err = read(ctx, t, nil, checked)
	}
	return result, t.Translate(err)
}

// read calls work with a version while it confirms the version, and repeats the call if the
// confirmation fails.
func read[T any](ctx context.Context, t *Table, number *uint64, work func(context.Context, *dataset.Dataset) (T, error)) (T, error) {
	var none T
	d, confirm, err := t.data.Begin(ctx, number)
	switch {
	case err != nil:
		return none, err
	case confirm == nil:
		return work(ctx, d)
	}
	// The work runs before the version is confirmed. Its context ends if the result is discarded.
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
	// The result may still read, so its context lives as long as the request.
	context.AfterFunc(ctx, discard)
	return result, err
}

// Settled is like Read, but calls work once, after the version is confirmed, so that work may
// commit.
func Settled[T any](ctx context.Context, t *Table, version *int64, work func(context.Context, *dataset.Dataset) (T, error)) (T, error) {
	d, err := Read(ctx, t, version, func(_ context.Context, d *dataset.Dataset) (*dataset.Dataset, error) { return d, nil })
	if err != nil {
		var none T
		return none, err
	}
	result, err := work(ctx, d)
	return result, t.Translate(t.cleanedUp(ctx, d, err))
}

// cleanedUp turns the error for a missing file into the error for a missing version if a cleanup
// has deleted the version too.
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

// Newest returns the number of the newest version. IsDeclared is true for the error if the table is
// only declared.
func (t *Table) Newest(ctx context.Context) (uint64, error) {
	d, err := t.data.Latest(ctx)
	if err != nil {
		return 0, t.Translate(err)
	}
	return d.Version(), nil
}

// CheckWritable returns an error if writers of the newest version must support a feature that this
// service lacks, such as the write-ahead log of a native writer.
func (t *Table) CheckWritable(ctx context.Context) error {
	return Do(ctx, t, nil, func(_ context.Context, d *dataset.Dataset) error { return operation.CheckWritable(d.Manifest()) })
}

// HasData reports whether the table has a version. It is false for a declared table.
func (t *Table) HasData(ctx context.Context) (bool, error) {
	_, err := t.Newest(ctx)
	if IsDeclared(err) {
		return false, nil
	}
	return err == nil, err
}

// Name returns the name of the table, or of the branch, for messages.
func (t *Table) Name() string { return t.name }

// IsBranch reports whether the table is a branch.
func (t *Table) IsBranch() bool { return t.onBranch }

// Warn logs a warning about the table.
func (t *Table) Warn(ctx context.Context, message string, err error) {
	t.engine.warn(ctx, message, slog.String("table", t.name), slog.Any("error", err))
}

// Data returns the underlying table, with its tags, branches and versions. Its errors are not protocol errors; see
// [Table.Translate].
func (t *Table) Data() *dataset.Table { return t.data }

// Translate turns errors of the layers below into protocol errors. It returns protocol errors unchanged.
func (t *Table) Translate(err error) error {
	if err == nil {
		return nil
	}
	var known *protocol.Error
	var translated *tableError
	var column *snapshot.ErrNoColumn
	var named *refs.NameError
	switch {
	case errors.As(err, &known), errors.As(err, &translated):
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

// A tableError is an internal error with the name of its table.
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

// Do is [Read] without a result.
func Do(ctx context.Context, t *Table, version *int64, work func(context.Context, *dataset.Dataset) error) error {
	_, err := Read(ctx, t, version, func(ctx context.Context, d *dataset.Dataset) (struct{}, error) {
		return struct{}{}, work(ctx, d)
	})
	return err
}

// IsDeclared reports whether an error means that the table is only declared and has no version.
func IsDeclared(err error) bool { return errors.Is(err, dataset.ErrNoTable) }
