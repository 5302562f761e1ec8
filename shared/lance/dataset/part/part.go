// Package part holds the parts of a multipart write of a table, from when their files are written
// until one commit names the files of all.
//
// Each part has a receipt, an object that is put if it is absent, so of several writers of one part
// the first counts:
//
//	_uploads/<upload>/<part>.txn    below the folder of the table or of the branch
//
// A receipt is a transaction of the table format (protos/transaction.proto) that appends or
// overwrites the rows of the part. Its properties hold the sum of the part's batches and the
// columns that its files are written for. A receipt never becomes a version. It names the part's
// files, so that a cleanup spares them while the upload may still be completed.
package part

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/arrowipc"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/memory"
	"tiltyard/shared/objectstore"
)

const (
	// Folder holds the receipts of all uploads.
	Folder = "_uploads"
	// Lifetime is how long an upload may take from its begin to its commit.
	Lifetime = 24 * time.Hour
	// MaxParts is how many parts one upload may have.
	MaxParts = 10_000

	suffix = ".txn"
	// maxReceiptBytes bounds one receipt: the names of the files of a very large part.
	maxReceiptBytes = 16 << 20
	// parsedFactor is about how many bytes of memory one byte of a receipt needs.
	parsedFactor = 8
	maxReads     = 16
)

// A Part is the files of a part, which are durable.
type Part struct {
	Operation pb.Operation // *pb.Append or *pb.Overwrite
	Columns   string       // identifies the columns and the version of data files that the files are written for
	Sum       arrowipc.Sum // of the batches of rows
}

// The properties of a receipt.
const (
	columnsProperty = "tiltyard.columns"
	sumProperty     = "tiltyard.sum"
)

// Fragments returns the fragments of the part, without ids.
func (p *Part) Fragments() []*pb.Fragment {
	switch op := p.Operation.(type) {
	case *pb.Append:
		return op.Fragments
	case *pb.Overwrite:
		return op.Fragments
	}
	return nil
}

// Rows returns how many rows the part has.
func (p *Part) Rows() int64 {
	rows := int64(0)
	for _, f := range p.Fragments() {
		rows += int64(f.PhysicalRows)
	}
	return rows
}

// Overwrites reports whether the part replaces the rows of the table.
func (p *Part) Overwrites() bool {
	_, ok := p.Operation.(*pb.Overwrite)
	return ok
}

// Encode returns the receipt of the part.
func (p *Part) Encode() []byte {
	txn := pb.Transaction{Operation: p.Operation, Properties: map[string]string{
		columnsProperty: p.Columns, sumProperty: hex.EncodeToString(p.Sum[:]),
	}}
	var e pb.Encoder
	txn.Marshal(&e)
	return e.B
}

// Decode reads a receipt. The error is lance.ErrCorrupt.
func Decode(receipt []byte) (*Part, error) {
	var txn pb.Transaction
	if err := txn.Unmarshal(receipt); err != nil {
		return nil, fmt.Errorf("%w: %w", lance.ErrCorrupt, err)
	}
	p := &Part{Operation: txn.Operation, Columns: txn.Properties[columnsProperty]}
	sum, err := hex.DecodeString(txn.Properties[sumProperty])
	if err != nil || len(sum) != len(p.Sum) {
		return nil, fmt.Errorf("%w: receipt without a sum", lance.ErrCorrupt)
	}
	p.Sum = arrowipc.Sum(sum)
	switch p.Operation.(type) {
	case *pb.Append, *pb.Overwrite:
	default:
		return nil, fmt.Errorf("%w: receipt of the operation %s", lance.ErrCorrupt, txn.OperationName())
	}
	for _, f := range p.Fragments() {
		if err := check(f); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// maxRows bounds the rows of one fragment: their offsets have 32 bits.
const maxRows = 1<<32 - 1

// check refuses a fragment that no part has written.
func check(f *pb.Fragment) error {
	if f.ID != 0 || f.DeletionFile != nil || len(f.Files) == 0 || f.PhysicalRows == 0 || f.PhysicalRows > maxRows || f.RowIDs != nil {
		return fmt.Errorf("%w: receipt of a fragment that is not a new one", lance.ErrCorrupt)
	}
	for _, file := range f.Files {
		if file.BaseID != nil || objectstore.CheckKey(file.Path) != nil || path.Base(file.Path) != file.Path {
			return fmt.Errorf("%w: receipt of the file %.80q, which is not in the table", lance.ErrCorrupt, file.Path)
		}
	}
	return nil
}

// A Place holds the receipts of a table or of one of its branches.
type Place struct {
	Store  objectstore.Store
	Prefix string // of all keys of the table, without a slash at its end
}

func (p Place) folder(upload string) string { return p.Prefix + "/" + Folder + "/" + upload + "/" }

func (p Place) key(upload, id string) string { return p.folder(upload) + id + suffix }

// Keep puts the receipt of a part and returns the part that has a receipt now: another one when it
// had one before.
func (p Place) Keep(ctx context.Context, upload, id string, made *Part) (*Part, error) {
	_, err := p.Store.Put(ctx, p.key(upload, id), made.Encode(), objectstore.Condition{IfAbsent: true})
	if errors.Is(err, objectstore.ErrPrecondition) || errors.Is(err, objectstore.ErrUnknownOutcome) {
		kept, found := p.Find(ctx, upload, id)
		if found == nil && kept != nil {
			return kept, nil
		}
		err = errors.Join(err, found)
	}
	if err != nil {
		return nil, fmt.Errorf("keep part %s: %w", id, err)
	}
	return made, nil
}

// Find returns a part, or nil when it has no receipt.
func (p Place) Find(ctx context.Context, upload, id string) (*Part, error) {
	_, info, err := p.Store.GetRanges(ctx, p.key(upload, id))
	if errors.Is(err, objectstore.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for part %s: %w", id, err)
	}
	return p.read(ctx, info)
}

// All returns the parts of an upload in the order of their ids.
func (p Place) All(ctx context.Context, upload string) ([]*Part, error) {
	var receipts []objectstore.Info
	for info, err := range objectstore.Objects(ctx, p.Store, objectstore.ListOptions{Prefix: p.folder(upload), Limit: 1000}) {
		if err != nil {
			return nil, fmt.Errorf("list the parts of upload %s: %w", upload, err)
		}
		if receipts = append(receipts, info); len(receipts) > MaxParts {
			return nil, fmt.Errorf("%w: an upload has more than %d parts", ErrTooMany, MaxParts)
		}
	}
	return p.readAll(ctx, receipts)
}

// ErrTooMany means that an upload has too many parts to be committed.
var ErrTooMany = errors.New("too many parts")

// Since returns the parts of all uploads whose receipts were written after a time, by the paths of
// their receipts below the table.
func (p Place) Since(ctx context.Context, after time.Time) (map[string]*Part, error) {
	var receipts []objectstore.Info
	for info, err := range objectstore.Objects(ctx, p.Store, objectstore.ListOptions{Prefix: p.Prefix + "/" + Folder + "/", Limit: 1000}) {
		if err != nil {
			return nil, fmt.Errorf("list the parts of uploads: %w", err)
		}
		if info.Modified.After(after) && strings.HasSuffix(info.Key, suffix) {
			receipts = append(receipts, info)
		}
	}
	parts, err := p.readAll(ctx, receipts)
	if err != nil {
		return nil, err
	}
	named := make(map[string]*Part, len(parts))
	for i, info := range receipts {
		named[strings.TrimPrefix(info.Key, p.Prefix+"/")] = parts[i]
	}
	return named, nil
}

func (p Place) readAll(ctx context.Context, receipts []objectstore.Info) ([]*Part, error) {
	parts := make([]*Part, len(receipts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for i, info := range receipts {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() (err error) {
			parts[i], err = p.read(ctx, info)
			return err
		})
	}
	return parts, group.Wait()
}

// read reads a receipt. Its memory is held until the request ends.
func (p Place) read(ctx context.Context, info objectstore.Info) (*Part, error) {
	if info.Size > maxReceiptBytes {
		return nil, fmt.Errorf("%w: receipt %s has %d bytes", lance.ErrCorrupt, info.Key, info.Size)
	}
	var room memory.Hold
	if err := room.Resize(ctx, parsedFactor*info.Size); err != nil {
		return nil, err
	}
	data, _, err := p.Store.GetRanges(ctx, info.Key, objectstore.Range{Offset: -info.Size})
	if err != nil {
		return nil, fmt.Errorf("read receipt %s: %w", info.Key, err)
	}
	found, err := Decode(data[0])
	if err != nil {
		return nil, fmt.Errorf("read receipt %s: %w", info.Key, err)
	}
	return found, nil
}
