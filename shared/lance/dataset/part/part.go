// Package part stores the parts of a multipart write, from the time their files are written until
// one commit refers to all of them.
//
// Each part has a receipt, an object put on condition that it does not exist. If several writers
// write the same part, the first one wins:
//
//	_uploads/<upload>/<part>.txn    below the folder of the table or of the branch
//
// A receipt is a transaction of the table format (protos/transaction.proto) that appends or
// overwrites the rows of the part. Its properties hold the checksum of the part's batches and the
// columns for which its files were written. A receipt never becomes a version. It refers to the
// part's files, so that a cleanup spares them while the upload may still be completed.
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

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/lance"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/storage/objectstore"
)

const (
	// Folder holds the receipts of all uploads.
	Folder = "_uploads"
	// Lifetime bounds an upload from its begin to its commit.
	Lifetime = 24 * time.Hour
	// MaxParts bounds the parts of one upload.
	MaxParts = 10_000

	suffix = ".txn"
	// maxReceiptBytes bounds one receipt. The file names of a very large part take the most.
	maxReceiptBytes = 16 << 20
	// parsedFactor is the approximate memory per receipt byte after decoding.
	parsedFactor = 8
	maxReads     = 16
)

// A Part describes the durable files of a part.
type Part struct {
	Operation pb.Operation // *pb.Append or *pb.Overwrite
	Columns   string       // identifies the columns and the data file version of the files
	Sum       arrowipc.Sum // checksum of the batches
}

// The properties of a receipt's transaction.
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

// Rows returns the number of rows of the part.
func (p *Part) Rows() int64 {
	rows := int64(0)
	for _, f := range p.Fragments() {
		rows += int64(f.PhysicalRows)
	}
	return rows
}

// Overwrites reports whether the part replaces all rows of the table.
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

// Decode parses a receipt. Malformed bytes are lance.ErrCorrupt.
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

// maxRows bounds the rows of one fragment: row offsets have 32 bits.
const maxRows = 1<<32 - 1

// check rejects a fragment that a part cannot have written.
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
	Prefix string // key prefix of the table, without a trailing slash
}

func (p Place) folder(upload string) string { return p.Prefix + "/" + Folder + "/" + upload + "/" }

func (p Place) key(upload, id string) string { return p.folder(upload) + id + suffix }

// Keep puts the receipt of a part if it has none. It returns the part that the stored receipt
// describes, which may be an earlier one.
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

// Find returns a part, or nil if it has no receipt.
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

// All returns the parts of an upload, ordered by id.
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

// ErrTooMany reports an upload with more than MaxParts parts.
var ErrTooMany = errors.New("too many parts")

// Since returns the parts of all uploads with receipts written after a time. Keys are the receipts'
// paths below the table.
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

// readAll reads receipts in parallel.
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

// read reads a receipt and charges its memory until the request ends.
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
