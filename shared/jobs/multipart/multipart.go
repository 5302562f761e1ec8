// Package multipart stores the state of multipart writes, which one client sends as many requests
// and which become one commit. Package part stores their files.
//
// The words of this package:
//
//   - An upload is one multipart write, from its begin to its commit or abort.
//   - A commit id is the UUID of the transaction that commits an upload.
//   - A retry is an upload with the rows of an earlier one, whose client got no answer.
//
// An upload is a record that only begin, complete and abort write; parts read it. Its states:
//
//	open        the upload accepts parts
//	closed      the upload accepts no parts; a complete reads the receipts
//	committing  the commit id is fixed, and a commit under it may have begun
//	committed   the version is known
//	aborted     the upload ended before a commit could begin
//
// A part reads the record again after it has put its receipt. If the upload is still open then,
// every complete that closes it later sees the receipt.
//
// Several requests may complete one upload, one after the other or in parallel, and any of them may
// die. They all commit under the commit id of the record. The record also holds a version that was
// the newest before the upload was committing. Each request searches the later versions for the
// commit before it commits.
//
// # Retries
//
// A client that gets no answer to its complete aborts the upload and sends all rows again as a new
// upload. The abort comes too late if a commit may have begun. It then leaves a mark: a record of
// the commit id under a key that hashes the contents of the upload, which are its target, mode,
// number of rows and the sum of its batches. That sum does not depend on the division of the rows
// into parts. An upload with the same contents that begins within [Window] after that abort takes
// the mark, and with it the commit id. So the rows are committed once, no matter which of the two
// uploads commits them.
//
// Rows are still added twice if all answers to complete and all requests to abort are lost.
package multipart

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/lance/dataset/part"
	"tiltyard/shared/process/backoff"
	"tiltyard/shared/protocol"
	"tiltyard/shared/storage/record"
)

// A Target is the destination of an upload, and its principal.
type Target struct {
	Table     string `json:"table"` // UID of the table
	Branch    string `json:"branch,omitempty"`
	Principal string `json:"principal"`
}

// Contents describe the rows of an upload.
type Contents struct {
	Overwrite bool   `json:"overwrite,omitempty"`
	Rows      int64  `json:"rows"`
	Sum       string `json:"sum"` // of the batches, in hexadecimal; see [arrowipc.Sum]
}

// A State is the state of an upload; see the comment of the package.
type State string

// The states of an upload.
const (
	Open       State = "open"
	Closed     State = "closed"
	Committing State = "committing"
	Committed  State = "committed"
	Aborted    State = "aborted"
)

// A Commit is the commit of an upload.
type Commit struct {
	ID    string `json:"id"`    // UUID of the transaction
	Since uint64 `json:"since"` // the newest version at some time before the commit could begin
}

// An Upload is a copy of an upload's record at the time it was read.
type Upload struct {
	ID string `json:"-"`
	Target
	State State     `json:"state"`
	Begun time.Time `json:"begun"`
	// The following fields are set from Committing on.
	Contents *Contents  `json:"contents,omitempty"`
	Commit   *Commit    `json:"commit,omitempty"`
	Fixed    *time.Time `json:"fixed,omitempty"` // when the commit id was fixed
	Version  uint64     `json:"version,omitempty"`

	record string // version of the record
}

// Uploads keeps the records of uploads. It is safe for concurrent use.
type Uploads struct {
	records record.Store
	now     func() time.Time
}

// OpenUploads returns the uploads in a record store.
func OpenUploads(records record.Store, now func() time.Time) *Uploads { return &Uploads{records, now} }

const (
	folder      = "upload/"
	maxAttempts = 20
	firstPause  = 2 * time.Millisecond
	maxPause    = 200 * time.Millisecond
)

// Begin creates the record of a new upload with a random id.
func (u *Uploads) Begin(ctx context.Context, target Target) (*Upload, error) {
	var id [16]byte
	rand.Read(id[:]) // never fails: the program ends first
	made := &Upload{ID: hex.EncodeToString(id[:]), Target: target, State: Open, Begun: u.now().UTC()}
	return made, u.write(ctx, made)
}

// Find returns an upload. The error is InvalidInput for an upload that does not exist, belongs to
// another target or has expired. A 404 would mean a missing table to LanceDB clients, and they
// would repeat the request after a 409.
func (u *Uploads) Find(ctx context.Context, id string, target Target) (*Upload, error) {
	found, err := u.read(ctx, id)
	if err != nil {
		return nil, err
	}
	target.Branch = cmp.Or(target.Branch, found.Branch)
	if found.Target != target {
		return nil, unknown(id, "it belongs to another table, branch or sender")
	}
	return found, nil
}

// ParsePartID returns the canonical form of a part's id, which is a UUID.
func ParsePartID(id string) (string, error) {
	parsed, err := uuid.Parse(id)
	if err != nil || len(id) != len(parsed.String()) {
		return "", protocol.Errorf(protocol.InvalidInput, "upload_part_id is %.80q; it must be a UUID", id)
	}
	return parsed.String(), nil
}

// TakesParts returns an InvalidInput error unless the upload is open.
func (up *Upload) TakesParts() error {
	if up.State != Open {
		return protocol.Errorf(protocol.InvalidInput, "upload %s is %s and takes no more parts; begin a new one", up.ID, up.State)
	}
	return nil
}

// ContentsOf adds up the contents of the parts of an upload.
func ContentsOf(parts []*part.Part) Contents {
	var c Contents
	var sum arrowipc.Sum
	for _, p := range parts {
		c.Overwrite = c.Overwrite || p.Overwrites()
		c.Rows += p.Rows()
		sum = sum.Plus(p.Sum)
	}
	c.Sum = hex.EncodeToString(sum[:])
	return c
}

// Close ends the time for parts and returns the upload as it is now. It does not change an upload
// that was closed before. The error is InvalidInput for an aborted upload.
func (u *Uploads) Close(ctx context.Context, up *Upload) (*Upload, error) {
	closed, err := u.change(ctx, up, func(up *Upload) {
		if up.State == Open {
			up.State = Closed
		}
	})
	if err != nil {
		return nil, err
	}
	return closed, closed.given()
}

// given returns an InvalidInput error if the upload is aborted.
func (up *Upload) given() error {
	if up.State == Aborted {
		return protocol.Errorf(protocol.InvalidInput, "upload %s is aborted; begin a new one", up.ID)
	}
	return nil
}

// Fix fixes the commit of a closed upload and returns the upload as it is now. A retry gets the
// commit of the upload that it repeats; others get a new commit id and since. Fix changes nothing
// if the commit is fixed already.
func (u *Uploads) Fix(ctx context.Context, up *Upload, contents Contents, since uint64) (*Upload, error) {
	if up.State != Closed {
		return up, up.findable(u.now())
	}
	commit, err := u.takeMark(ctx, up, contents)
	if err != nil {
		return nil, err
	}
	if commit == nil {
		// The id is derived from the upload, so that concurrent requests agree.
		commit = &Commit{ID: uuid.NewSHA1(commitIDs, []byte(up.ID)).String(), Since: since}
	}
	fixed, err := u.change(ctx, up, func(up *Upload) {
		if up.State == Closed {
			now := u.now().UTC()
			up.State, up.Contents, up.Commit, up.Fixed = Committing, &contents, commit, &now
		}
	})
	if err != nil {
		return nil, err
	}
	return fixed, cmp.Or(fixed.given(), fixed.findable(u.now()))
}

// commitIDs is the UUID namespace of commit ids.
var commitIDs = uuid.MustParse("6f2b5f0e-4d0f-4c35-9b55-0f1f2d3c7a61")

// maxSettle is how long the service searches for a commit that may have been made. Cleanups keep
// versions for a longer time.
const maxSettle = 45 * time.Minute

// findable returns an InvalidInput error if the search for a commit that may have been made has
// ended.
func (up *Upload) findable(now time.Time) error {
	if up.Lost(now) {
		return protocol.Errorf(protocol.InvalidInput,
			"upload %s was being completed at %s, and whether it was can no longer be found out; look for its rows in the table",
			up.ID, up.Fixed.Format(time.RFC3339))
	}
	return nil
}

// Lost reports whether a commit may have been made but can no longer be found.
func (up *Upload) Lost(now time.Time) bool {
	return up.Fixed != nil && up.State == Committing && now.Sub(*up.Fixed) > maxSettle
}

// All yields the uploads that have a record, in no particular order. Records expire after a day.
func (u *Uploads) All(ctx context.Context) iter.Seq2[*Upload, error] {
	return func(yield func(*Upload, error) bool) {
		for after := ""; ; {
			page, err := u.records.List(ctx, strings.TrimSuffix(folder, "/"), after, maxListed)
			if err != nil {
				yield(nil, fmt.Errorf("list uploads: %w", err))
				return
			}
			for _, r := range page.Records {
				up := &Upload{ID: strings.TrimPrefix(r.Key, folder), record: r.Version}
				if err := json.Unmarshal(r.Value, up); err != nil {
					yield(nil, fmt.Errorf("decode record %s: %w", r.Key, err))
					return
				}
				if !yield(up, nil) {
					return
				}
			}
			if after = page.Next; after == "" {
				return
			}
		}
	}
}

// maxListed is the number of uploads on a page.
const maxListed = 100

// Done records the version of the commit. Without it, the next request searches for the commit.
func (u *Uploads) Done(ctx context.Context, up *Upload, version uint64) error {
	_, err := u.change(ctx, up, func(up *Upload) {
		if up.State == Committing {
			up.State, up.Version = Committed, version
		}
	})
	return err
}

// Abort gives up an upload and returns it as it is afterwards. If a commit may have begun, the
// upload stays unchanged, and a mark lets its retry commit under the same id.
func (u *Uploads) Abort(ctx context.Context, up *Upload) (*Upload, error) {
	up, err := u.change(ctx, up, func(up *Upload) {
		if up.State == Open || up.State == Closed {
			up.State = Aborted
		}
	})
	if err != nil || up.State == Aborted {
		return up, err
	}
	return up, u.leaveMark(ctx, up)
}

// change applies a change to an upload and returns the upload afterwards. On a conflict, or if the
// answer of the storage was lost, it reads the record again and retries.
func (u *Uploads) change(ctx context.Context, up *Upload, apply func(*Upload)) (*Upload, error) {
	id := up.ID
	for attempt := range maxAttempts {
		// Apply the change to a copy, because the write may fail.
		next := *up
		if apply(&next); next.State == up.State {
			return up, nil
		}
		err := u.write(ctx, &next)
		if !errors.Is(err, record.ErrConflict) && !errors.Is(err, record.ErrUnknownOutcome) {
			return &next, err
		}
		if err := backoff.Wait(ctx, firstPause, maxPause, attempt); err != nil {
			return nil, err
		}
		if up, err = u.read(ctx, id); err != nil {
			return nil, err
		}
	}
	return nil, &protocol.Error{
		Code: protocol.ServiceUnavailable, Message: "upload " + id + " is being changed by other requests",
		Detail: "send the request again",
	}
}

// read returns the upload with an id. The error is InvalidInput if there is none.
func (u *Uploads) read(ctx context.Context, id string) (*Upload, error) {
	// Other texts could contain a path.
	if len(id) != idDigits || strings.Trim(id, "0123456789abcdef") != "" {
		return nil, unknown(id, "it is not the id of an upload")
	}
	r, err := u.records.Get(ctx, folder+id)
	if errors.Is(err, record.ErrNotExist) {
		return nil, unknown(id, "it does not exist, or is older than a day")
	}
	if err != nil {
		return nil, fmt.Errorf("look for upload %s: %w", id, err)
	}
	up := &Upload{ID: id, record: r.Version}
	if err := r.Decode(up); err != nil {
		return nil, err
	}
	return up, nil
}

const idDigits = 32

// write stores the upload if its record is unchanged since it was read.
func (u *Uploads) write(ctx context.Context, up *Upload) error {
	value, err := json.Marshal(up)
	if err != nil {
		return err
	}
	up.record, err = u.records.Put(ctx, record.Record{
		Key: folder + up.ID, Value: value, Version: up.record, Expires: up.Begun.Add(part.Lifetime),
	})
	if err != nil {
		return fmt.Errorf("write upload %s: %w", up.ID, err)
	}
	return nil
}

// unknown returns the InvalidInput error for an id that the request cannot use.
func unknown(id, why string) error {
	return &protocol.Error{
		Code: protocol.InvalidInput, Message: fmt.Sprintf("upload_id %.80q cannot be used here: %s", id, why),
		Detail: "begin a new upload with multipart_write/create",
	}
}
