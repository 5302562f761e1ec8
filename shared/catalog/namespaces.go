package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/auth"
	"tiltyard/shared/objectstore"
	"tiltyard/shared/protocol"
)

// A Namespace is a container of tables and namespaces.
type Namespace struct {
	ID         []string          // empty for the root
	Properties map[string]string // never nil
	Created    time.Time
}

// namespaceRecord is what is stored of a namespace. The root has none.
type namespaceRecord struct {
	ID         []string          `json:"id"`
	UID        string            `json:"uid"` // of this incarnation of the name
	Properties map[string]string `json:"properties,omitempty"`
	Created    time.Time         `json:"created_at"`
	Dropping   *dropMark         `json:"dropping,omitempty"`
}

// dropMark says that someone is about to drop the namespace, until the given time.
type dropMark struct {
	By    string    `json:"by"` // unique per drop
	Until time.Time `json:"until"`
}

// dropLease is how long a drop may take between its mark and its deletion of the record.
const dropLease = 30 * time.Second

// ExistsMode says what creating does when the name is taken.
type ExistsMode int

// What creating does when the name is taken.
const (
	FailIfExists ExistsMode = iota
	KeepIfExists
	ReplaceIfExists
)

func (r *namespaceRecord) namespace() *Namespace {
	properties := r.Properties
	if properties == nil {
		properties = map[string]string{}
	}
	return &Namespace{ID: r.ID, Properties: properties, Created: r.Created}
}

// Namespace returns a namespace, or NamespaceNotFound. The root is always there.
func (c *Catalog) Namespace(ctx context.Context, id []string) (*Namespace, error) {
	if isRoot(id) {
		return &Namespace{Properties: map[string]string{}}, nil
	}
	record, _, err := c.namespaceRecord(ctx, id)
	if err != nil {
		return nil, err
	}
	return record.namespace(), nil
}

func (c *Catalog) namespaceRecord(ctx context.Context, id []string) (*namespaceRecord, string, error) {
	var record namespaceRecord
	etag, err := c.read(ctx, namespaceKey(id), &record)
	if errors.Is(err, objectstore.ErrNotExist) || !auth.Sees(ctx, auth.Namespace(id)) {
		return nil, "", namespaceNotFound(id)
	}
	if err != nil {
		return nil, "", err
	}
	return &record, etag, nil
}

func namespaceNotFound(id []string) error {
	return &protocol.Error{
		Code:    protocol.NamespaceNotFound,
		Message: fmt.Sprintf("namespace %s does not exist", display(id)),
	}
}

// CreateNamespace makes a namespace. ReplaceIfExists drops the one of that name with all
// it holds first.
func (c *Catalog) CreateNamespace(ctx context.Context, id []string, properties map[string]string, mode ExistsMode) (*Namespace, error) {
	if isRoot(id) {
		if mode == KeepIfExists {
			return c.Namespace(ctx, id)
		}
		return nil, namespaceExists(id)
	}
	record := &namespaceRecord{ID: id, UID: newUID(), Properties: maps.Clone(properties), Created: c.now().UTC()}
	for range createAttempts {
		_, err := c.createChild(ctx, id, namespaceKey(id), record)
		if !errors.Is(err, objectstore.ErrPrecondition) {
			if err != nil {
				return nil, err
			}
			return record.namespace(), nil
		}
		switch mode {
		case FailIfExists:
			return nil, c.taken(ctx, id, namespaceExists(id))
		case KeepIfExists:
			there, err := c.Namespace(ctx, id)
			if !hasCode(err, protocol.NamespaceNotFound) {
				return there, err
			}
		case ReplaceIfExists:
			err := c.CheckCascade(ctx, id)
			if err == nil {
				_, err = c.DropNamespace(ctx, id, true)
			}
			if err != nil && !hasCode(err, protocol.NamespaceNotFound) {
				return nil, err
			}
		}
	}
	return nil, lostRace("namespace", id, objectstore.ErrPrecondition)
}

func namespaceExists(id []string) error {
	return &protocol.Error{
		Code:    protocol.NamespaceAlreadyExists,
		Message: fmt.Sprintf("namespace %s already exists", display(id)),
		Detail:  `choose another name, or mode "ExistOk" to keep the existing namespace`,
	}
}

// A childRecord is what is stored of a namespace or a table.
type childRecord interface{ uid() string }

func (r *namespaceRecord) uid() string { return r.UID }

func (r *tableRecord) uid() string { return r.UID }

// createAttempts bounds how often a create that meets a concurrent drop starts again.
const createAttempts = 5

// createChild puts the record of a new namespace or table, which must not exist yet
// (objectstore.ErrPrecondition), into a parent that must exist before and after. It
// returns the ETag of the record.
func (c *Catalog) createChild(ctx context.Context, id []string, key string, record childRecord) (etag string, err error) {
	parent := parentOf(id)
	if isRoot(parent) {
		return c.write(ctx, key, record, objectstore.Condition{IfAbsent: true})
	}
	for attempt := range createAttempts {
		within, err := c.checkParent(ctx, parent)
		if err != nil {
			if !errors.Is(err, errDropping) || attempt == createAttempts-1 {
				return "", droppingToConflict(parent, err)
			}
			if err := sleep(ctx, dropPause<<attempt); err != nil {
				return "", err
			}
			continue
		}
		if table, ok := record.(*tableRecord); ok && table.Arriving == nil && table.Ledger == nil && wantsLedger(within.Properties) {
			table.Ledger = &ledger{}
		}
		etag, err := c.write(ctx, key, record, objectstore.Condition{IfAbsent: true})
		if err != nil {
			return "", err
		}
		_, err = c.checkParent(ctx, parent)
		if err == nil {
			return etag, nil
		}
		if !errors.Is(err, errDropping) && !hasCode(err, protocol.NamespaceNotFound) {
			// Others may have seen it, and there is most likely nothing wrong with it.
			return "", unsettled(err)
		}
		// The drop may have listed before our put: take it back. Only this record: if it
		// has been replaced meanwhile, its new owner has made the same check.
		if undo := c.remove(ctx, key, record.uid(), etag); undo != nil && !gone(undo) {
			return "", fmt.Errorf("take back %s: %w", display(id), undo)
		}
		if !errors.Is(err, errDropping) {
			return "", err
		}
	}
	return "", droppingToConflict(parent, errDropping)
}

// taken is the answer to who creates something under a name that is taken: exists, unless what
// has the name is left of a namespace that is gone, or is about to be taken back.
func (c *Catalog) taken(ctx context.Context, id []string, exists error) error {
	if isRoot(parentOf(id)) {
		return exists
	}
	if _, err := c.checkParent(ctx, parentOf(id)); err != nil {
		return droppingToConflict(parentOf(id), err)
	}
	return exists
}

// dropPause is the first wait for a drop in progress to end; it doubles.
const dropPause = 5 * time.Millisecond

// errDropping says that a namespace is being dropped at this moment.
var errDropping = errors.New("namespace is being dropped")

func droppingToConflict(id []string, err error) error {
	if errors.Is(err, errDropping) {
		return lostRace("namespace", id, err)
	}
	return err
}

// checkParent returns the namespace when it exists and nobody is dropping it. A mark that
// has run out is removed.
func (c *Catalog) checkParent(ctx context.Context, id []string) (*namespaceRecord, error) {
	record, etag, err := c.namespaceRecord(ctx, id)
	if err != nil || record.Dropping == nil {
		return record, err
	}
	if c.now().Before(record.Dropping.Until) {
		return nil, errDropping
	}
	record.Dropping = nil
	_, err = c.write(ctx, namespaceKey(id), record, objectstore.Condition{IfMatch: etag})
	if gone(err) {
		return nil, errDropping // changed meanwhile: look again
	}
	return record, err
}

// gone says that a conditional write found another record than it expected, or none.
func gone(err error) bool {
	return errors.Is(err, objectstore.ErrPrecondition) || errors.Is(err, objectstore.ErrNotExist)
}

// DropNamespace removes a namespace. One that holds tables or namespaces is
// NamespaceNotEmpty, unless cascade drops them first. It returns what was dropped.
func (c *Catalog) DropNamespace(ctx context.Context, id []string, cascade bool) (*Namespace, error) {
	if isRoot(id) {
		return nil, errRootDrop
	}
	var children dropTable
	if cascade {
		children = c.DropTable
	}
	return c.dropNamed(ctx, id, children)
}

// A dropTable is how the tables of a namespace go with it; nil: they do not.
type dropTable func(ctx context.Context, id []string) (*Table, error)

// dropNamed drops the namespace of that name.
func (c *Catalog) dropNamed(ctx context.Context, id []string, children dropTable) (*Namespace, error) {
	record, etag, err := c.namespaceRecord(ctx, id)
	if err != nil {
		return nil, err
	}
	return c.dropNamespace(ctx, record, etag, children)
}

// dropNamespace drops the namespace of a record, if it is still that.
func (c *Catalog) dropNamespace(ctx context.Context, record *namespaceRecord, etag string, children dropTable) (*Namespace, error) {
	id := record.ID
	if record.Dropping != nil && c.now().Before(record.Dropping.Until) {
		return nil, lostRace("namespace", id, errDropping)
	}
	etag, err := c.markDropping(ctx, record, etag)
	if err != nil {
		return nil, err
	}
	if children != nil {
		err = c.dropChildren(ctx, id, children)
	}
	if err == nil {
		err = c.checkEmpty(ctx, id)
	}
	if err != nil {
		return nil, errors.Join(err, c.unmark(ctx, record, etag))
	}
	err = c.remove(ctx, namespaceKey(id), record.UID, etag)
	if gone(err) {
		return nil, lostRace("namespace", id, err)
	}
	if err != nil {
		return nil, fmt.Errorf("drop namespace %s: %w", display(id), err)
	}
	return record.namespace(), c.forgetLate(ctx, id)
}

// forgetLate takes away what is in a namespace that has just been dropped: a creator that put
// its child after our listing and then died could not take it back. Nobody was told of that
// child. Its data stays, which may be somebody's who wanted it to be a table. What comes later
// yet is found by a sweep.
func (c *Catalog) forgetLate(ctx context.Context, id []string) error {
	late, err := c.anyChild(ctx, id)
	if err == nil && late != "" {
		err = c.dropChildren(ctx, id, c.DeregisterTable)
	}
	return err
}

func (c *Catalog) markDropping(ctx context.Context, record *namespaceRecord, etag string) (string, error) {
	record.Dropping = &dropMark{By: newUID(), Until: c.now().Add(dropLease).UTC()}
	etag, err := c.write(ctx, namespaceKey(record.ID), record, objectstore.Condition{IfMatch: etag})
	if gone(err) {
		return "", lostRace("namespace", record.ID, err)
	}
	return etag, err
}

// unmark takes a drop mark back. It is part of answering a refused drop, so it is not
// given up with the request.
func (c *Catalog) unmark(ctx context.Context, record *namespaceRecord, etag string) error {
	record.Dropping = nil
	_, err := c.write(context.WithoutCancel(ctx), namespaceKey(record.ID), record, objectstore.Condition{IfMatch: etag})
	if gone(err) {
		return nil
	}
	return err
}

// checkEmpty returns NamespaceNotEmpty when the namespace has a child.
func (c *Catalog) checkEmpty(ctx context.Context, id []string) error {
	found, err := c.anyChild(ctx, id)
	if err != nil || found == "" {
		return err
	}
	notEmpty := namespaceNotEmpty(id)
	if !auth.Limited(ctx) { // what it holds may be hidden
		notEmpty.Detail = fmt.Sprintf("it holds %q; %s", found, notEmpty.Detail)
	}
	return notEmpty
}

func namespaceNotEmpty(id []string) *protocol.Error {
	return &protocol.Error{
		Code:    protocol.NamespaceNotEmpty,
		Message: fmt.Sprintf("namespace %s is not empty", display(id)),
		Detail:  `drop what it holds first, or use behavior "Cascade"`,
	}
}

// anyChild returns the name of some table or namespace inside one, "" when it is empty.
// Records that renames have left behind do not count; one that is on its way makes the
// namespace neither empty nor not (ConcurrentModification).
func (c *Catalog) anyChild(ctx context.Context, id []string) (string, error) {
	opts := objectstore.ListOptions{Prefix: recordsPrefix + folder(id) + "/", Limit: 1}
	for {
		listed, err := c.store.List(ctx, opts)
		if err != nil {
			return "", fmt.Errorf("list children of %s: %w", display(id), err)
		}
		if len(listed.Objects) == 0 {
			return "", nil
		}
		object := listed.Objects[0]
		name, err := unescape(path.Base(object.Key))
		if err != nil {
			return "", fmt.Errorf("list children of %s: %w", display(id), err)
		}
		if !inDoubt(object) {
			return name, nil
		}
		switch _, _, err := c.settled(ctx, child(id, name)); {
		case err == nil:
			return name, nil
		case errors.Is(err, errArriving):
			return "", lostRace("namespace", id, err)
		case !errors.Is(err, objectstore.ErrNotExist):
			return "", err
		}
		opts.StartAfter = object.Key
	}
}

// dropChildren drops all that a namespace holds, leaves first, whether the caller sees it or
// not: see CheckCascade.
func (c *Catalog) dropChildren(ctx context.Context, id []string, drop dropTable) error {
	ctx = auth.Unlimited(ctx)
	tables, err := c.children(ctx, id, tableKind, "", All)
	if err != nil {
		return err
	}
	namespaces, err := c.children(ctx, id, namespaceKind, "", All)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(dropFanOut)
	for _, name := range tables.names {
		group.Go(func() error {
			_, err := drop(ctx, child(id, name))
			return ignore(err, protocol.TableNotFound, protocol.NamespaceNotFound)
		})
	}
	for _, name := range namespaces.names {
		group.Go(func() error {
			_, err := c.dropNamed(ctx, child(id, name), drop)
			return ignore(err, protocol.NamespaceNotFound)
		})
	}
	return group.Wait()
}

// dropFanOut bounds how many children of one namespace are dropped at a time.
const dropFanOut = 8

// child returns the id of a name in a namespace, in memory of its own.
func child(parent []string, name string) []string {
	return append(append(make([]string, 0, len(parent)+1), parent...), name)
}

// ignore returns nil for an error that has one of the codes.
func ignore(err error, codes ...protocol.Code) error {
	for _, code := range codes {
		if hasCode(err, code) {
			return nil
		}
	}
	return err
}

// sleep waits, or returns the context's error when that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
