package operation_test

import (
	"archive/zip"
	"io"
	"testing"

	"tiltyard/shared/lance/manifest"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/storage/objectstore/memstore"
)

// For any manifest and transaction, Apply and Check end with a readable manifest or an error.
func FuzzApply(f *testing.F) {
	archive, err := zip.OpenReader("testdata/history.zip")
	if err != nil {
		f.Fatal(err)
	}
	defer archive.Close() //nolint:errcheck // only read
	var before []byte
	for _, file := range archive.File {
		r, err := file.Open()
		if err != nil {
			f.Fatal(err)
		}
		after, err := io.ReadAll(r)
		if err != nil {
			f.Fatal(err)
		}
		m, err := manifest.Parse(after)
		if err != nil {
			f.Fatal(err)
		}
		txn, err := m.ReadTransaction(f.Context(), nil, "")
		if err != nil {
			f.Fatal(err)
		}
		if before != nil {
			var e pb.Encoder
			txn.Marshal(&e)
			f.Add(before, e.B)
			f.Add(after, e.B)
		}
		before = after
	}
	store := memstore.New()
	f.Fuzz(func(t *testing.T, file, transaction []byte) {
		base, err := manifest.Parse(file)
		if err != nil {
			return
		}
		var txn pb.Transaction
		if err := txn.Unmarshal(transaction); err != nil || txn.Operation == nil {
			return
		}
		if theirs, err := base.ReadTransaction(t.Context(), store, "table"); err == nil {
			operation.Ours{Operation: txn.Operation}.Check(theirs.Operation)
			operation.Rebased(txn.Operation, theirs.Operation) //nolint:errcheck // only that it ends
		}
		next, err := operation.Apply(base, txn.Operation)
		if err != nil {
			return
		}
		encoded, err := next.Encode(&txn)
		if err != nil {
			return
		}
		if _, err := manifest.Parse(encoded); err != nil {
			t.Errorf("the manifest that %s makes cannot be read: %v", txn.OperationName(), err)
		}
	})
}
