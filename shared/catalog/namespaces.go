package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

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
