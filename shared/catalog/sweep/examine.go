package sweep

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tiltyard/shared/catalog/claim"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/catalog/views"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/format"
	"tiltyard/shared/storage/objectstore"
)

// A Fault is an inconsistency in the records or the folders of a root.
type Fault struct {
	Kind   FaultKind
	Object string // the key of a record, or the name of a folder of the root
	Reason string // why a record cannot be read
}

// A FaultKind is a kind of faults.
type FaultKind string

// These are the kinds of faults.
const (
	DamagedRecord FaultKind = "damaged-record" // a record that cannot be read
	NewerRecord   FaultKind = "newer-record"   // a record that only a newer release can read
	OrphanRecord  FaultKind = "orphan-record"  // a record in a namespace that does not exist; Sweep removes it
	OrphanFolder  FaultKind = "orphan-folder"  // the files of a table that is gone, or was never made; DeleteFolder removes them
	UnknownFolder FaultKind = "unknown-folder" // a table of another program, without a name here
	ExpiredDrop   FaultKind = "expired-drop"   // a dropped table whose time is over; Sweep removes it
)

// MinFolderAge is the least age of all files in a folder that counts as orphaned. The writer of
// younger files may still put the record.
const MinFolderAge = 24 * time.Hour

// Examine compares the records of the catalog with the folders of the home root, and returns the ids of the
// tables that have a readable record. It reads all records and writes nothing.
func (s *Sweeper) Examine(ctx context.Context) (faults []Fault, tables [][]string, err error) {
	ctx = auth.Unlimited(ctx)
	folders, err := s.tableFolders(ctx) // before the records, so that a table created in between is not taken for an orphan
	if err != nil {
		return nil, nil, err
	}
	found, err := s.examineRecords(ctx)
	if err != nil {
		return nil, nil, err
	}
	faults = found.faults
	for _, folder := range folders {
		if found.places[folder] {
			continue
		}
		kind, err := s.examineFolder(ctx, folder)
		if err != nil {
			return nil, nil, err
		}
		if kind != "" && !(kind == OrphanFolder && found.unread) {
			faults = append(faults, Fault{Kind: kind, Object: folder})
		}
	}
	unread := new(objects.Unswept)
	orphans, err := s.missingParents(ctx, unread)
	if err == nil {
		err = unread.OrNil()
	}
	if err != nil && len(faults) == 0 {
		return nil, nil, err // else a damaged record is the reason
	}
	for _, dir := range slices.Sorted(maps.Keys(orphans)) {
		if _, _, err := s.names.Namespace(ctx, orphans[dir]); protocol.HasCode(err, protocol.NamespaceNotFound) {
			faults = append(faults, Fault{Kind: OrphanRecord, Object: keys.Display(orphans[dir])})
		}
	}
	return faults, found.tables, nil
}

// tableFolders returns the folders of the home root whose names are those of table folders.
func (s *Sweeper) tableFolders(ctx context.Context) (folders []string, err error) {
	opts := objectstore.ListOptions{Delimiter: "/", Limit: objects.PageSize}
	for page, err := range objectstore.Pages(ctx, s.names.Store, opts) {
		if err != nil {
			return nil, fmt.Errorf("list the folders of the root: %w", err)
		}
		for _, prefix := range page.Prefixes {
			if name := strings.TrimSuffix(prefix, "/"); strings.HasSuffix(name, ".lance") && !claim.Reserved(name) {
				folders = append(folders, name)
			}
		}
	}
	return folders, nil
}

// examined is the result of reading all records.
type examined struct {
	places map[string]bool // the folders of the home root to which records refer
	tables [][]string      // their ids, without plain views and dropped tables
	unread bool            // places may lack some, because a record could not be read
	faults []Fault
}

// examineRecords reads all records.
func (s *Sweeper) examineRecords(ctx context.Context) (*examined, error) {
	found := &examined{places: map[string]bool{}}
	for object, err := range objectstore.Objects(ctx, s.names.Store, objectstore.ListOptions{Prefix: keys.Records, Limit: objects.PageSize}) {
		if err != nil {
			return nil, fmt.Errorf("list records: %w", err)
		}
		if keys.Tables.Has(object.Key) {
			record := new(stored.Table)
			if _, err := s.names.Store.Read(ctx, object.Key, record); objects.Missing(err) {
				continue
			} else if err != nil {
				found.faults, found.unread = append(found.faults, unreadable(object.Key, err)), true
				continue
			}
			if record.Dropped == nil && views.NotPlain(record) == nil {
				found.tables = append(found.tables, record.ID)
			}
			for _, one := range []*stored.Table{record, then(record)} {
				if one != nil {
					folder, _, _ := strings.Cut(one.Location, "/")
					found.places[folder] = true
				}
			}
			if record.Dropped != nil && s.names.Now().After(record.Dropped.Until) {
				found.faults = append(found.faults, Fault{Kind: ExpiredDrop, Object: keys.Display(record.Dropped.ID)})
			}
			continue
		}
		if keys.Namespaces.Has(object.Key) {
			if _, err := s.names.Store.Read(ctx, object.Key, new(stored.Namespace)); objects.IgnoreMissing(err) != nil {
				found.faults = append(found.faults, unreadable(object.Key, err))
			}
		}
	}
	return found, nil
}

// unreadable returns the fault of a record that could not be read.
func unreadable(key string, err error) Fault {
	kind := DamagedRecord
	if format.Newer(err) {
		kind = NewerRecord
	}
	return Fault{Kind: kind, Object: key, Reason: err.Error()}
}

// then returns the table that the batch in a record would make, or nil if it makes none.
func then(record *stored.Table) *stored.Table {
	if record.Pending == nil {
		return nil
	}
	return record.Pending.Then
}

// examineFolder returns the fault of a folder without a record, or "" if there is none: a
// deregistration leaves files on purpose, and young files may get a record soon.
func (s *Sweeper) examineFolder(ctx context.Context, folder string) (FaultKind, error) {
	claims, err := s.names.Places.About(ctx, folder)
	if err != nil || len(claims) > 0 { // a registration is under way, or lies within the folder
		return "", err
	}
	if !claim.IsOwn(folder) {
		return UnknownFolder, nil
	}
	note, _, err := s.names.Store.Get(ctx, claim.OwnerlessKey(folder))
	if err == nil && len(note) == 0 {
		return "", nil
	}
	if objects.IgnoreMissing(err) != nil {
		return "", err
	}
	oldest := s.names.Now().Add(-MinFolderAge)
	for object, err := range objectstore.Objects(ctx, s.names.Store, objectstore.ListOptions{Prefix: folder + "/", Limit: objects.PageSize}) {
		if err != nil {
			return "", fmt.Errorf("list %s: %w", folder, err)
		}
		if object.Modified.After(oldest) {
			return "", nil
		}
	}
	return OrphanFolder, nil
}

// DeleteFolder deletes the files of a folder that Examine has reported as an orphan. It deletes them as those of a dropped
// table, so files that a registration has claimed meanwhile stay.
func (s *Sweeper) DeleteFolder(ctx context.Context, folder string) error {
	nameless := &stored.Table{ID: keys.DroppedID(folder), UID: objects.NewUID(), Location: folder, Claim: stored.OwnPlace}
	at, err := s.names.Locate(nameless)
	if err != nil {
		return err
	}
	return s.names.Places.DeleteData(ctx, nameless, at)
}
