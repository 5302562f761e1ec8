// Package storetest tests the contract of objectstore.Store; every implementation runs it. It tests only
// the guarantees of the interface. None of its keys is a folder of another, because some stores cannot hold
// both.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tiltyard/shared/storage/objectstore"
)

// A test is a part of the contract. It gets an empty store.
type test struct {
	name string
	run  func(*testing.T, objectstore.Store)
}

// must are the promises that commits and the catalog rest on.
var must = []test{
	{"PutThenGet", putThenGet},
	{"MissingObjects", missingObjects},
	{"OddKeys", manyKeys},
	{"InvalidKeys", invalidKeys},
	{"BytesAreCopied", bytesAreCopied},
	{"Ranges", ranges},
	{"InvalidRanges", invalidRanges},
	{"PutIfAbsent", putIfAbsent},
	{"PutIfMatch", putIfMatch},
	{"DeleteIfMatch", deleteIfMatch},
	{"MistakenConditions", mistakenConditions},
	{"ETagsOfOverwritesDiffer", etagsOfOverwritesDiffer},
	{"WriterCommits", writerCommits},
	{"WriterAborts", writerAborts},
	{"Copies", copies},
	{"CancelledContext", cancelledContext},
	{"ListOrder", listOrder},
	{"ListAgreesWithModel", listAgreesWithModel},
	{"ListPages", listPages},
	{"ListMistakes", listMistakes},
	{"HistoryAgreesWithModel", historyAgreesWithModel},
	{"RacingPutIfAbsent", contest{racers: 8}.putIfAbsent},
	{"RacingPutIfMatch", contest{racers: 8}.putIfMatch},
	{"RacingDeleteIfMatch", contest{racers: 16}.deleteIfMatch},
	{"ReadersSeeWholeObjects", readersSeeWholeObjects},
}

// nice are guarantees of the interface that some servers with the S3 protocol violate, but on which no
// commit depends. Names of tables and versions are short and escaped. Only programs that examine a root
// list folders by pages. A last page may be empty. Objects that are read by ranges are never replaced. A
// caller with an unknown outcome reads the object. A put that is refused because its folder is being
// removed has failed with an error.
var nice = []test{
	{"LongNames", longKeys},
	{"Backslash", backslashKey},
	{"ListPagesOfFolders", listPagesOfFolders},
	{"ListKnowsItsEnd", listKnowsItsEnd},
	{"RangesAreOfOneObject", rangesAreOfOneObject},
	{"RacingPutsAndDeletesOfSiblings", racingPutsAndDeletesOfSiblings},
	{"LosersOfPutIfAbsentLearnIt", contest{racers: 64, exact: true}.putIfAbsent},
	{"LosersOfPutIfMatchLearnIt", contest{racers: 64, exact: true}.putIfMatch},
	{"LosersOfDeleteIfMatchLearnIt", contest{racers: 16, exact: true}.deleteIfMatch},
}

// Run tests a kind of store: the essential guarantees as Must, the others as Nice. open returns an empty
// store each time, and registers its clean-up with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) objectstore.Store) {
	t.Run("Must", func(t *testing.T) { runAll(t, must, open) })
	t.Run("Nice", func(t *testing.T) { runAll(t, nice, open) })
}

func runAll(t *testing.T, tests []test, open func(t *testing.T) objectstore.Store) {
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

var (
	always   = objectstore.Condition{}
	ifAbsent = objectstore.Condition{IfAbsent: true}
)

// infoDiff compares the Info of a read with the Info of a write, whose time is inexact.
func infoDiff(written, read objectstore.Info) string {
	return cmp.Diff(written, read, cmpopts.EquateApproxTime(5*time.Second))
}

func ifMatch(etag string) objectstore.Condition { return objectstore.Condition{IfMatch: etag} }

// A fataler is a test or a property check.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func mustPut(t fataler, s objectstore.Store, key, value string) objectstore.Info {
	t.Helper()
	info, err := s.Put(context.Background(), key, []byte(value), always)
	if err != nil {
		t.Fatalf("Put(%.80q): got %v, want nil", key, err)
	}
	if info.Key != key || info.Size != int64(len(value)) || info.ETag == "" || info.Modified.IsZero() {
		t.Fatalf("Put(%.80q): got %+v, want this key, size %d, an ETag and a time", key, info, len(value))
	}
	return info
}

func mustGet(t fataler, s objectstore.Store, key, want string) objectstore.Info {
	t.Helper()
	data, info, err := s.Get(context.Background(), key)
	if err != nil {
		t.Fatalf("Get(%.80q): got %v, want nil", key, err)
	}
	if !bytes.Equal(data, []byte(want)) {
		t.Fatalf("Get(%.80q): got %.80q, want %.80q", key, data, want)
	}
	return info
}

func wantErr(t fataler, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// wantAbsent checks that every way of reading key returns ErrNotExist.
func wantAbsent(t fataler, s objectstore.Store, key string) {
	t.Helper()
	_, _, err := s.Get(context.Background(), key)
	wantErr(t, "Get", err, objectstore.ErrNotExist)
	_, _, err = s.GetRanges(context.Background(), key, objectstore.Range{Length: 1})
	wantErr(t, "GetRanges", err, objectstore.ErrNotExist)
	_, _, err = s.GetRanges(context.Background(), key)
	wantErr(t, "GetRanges without ranges", err, objectstore.ErrNotExist)
}

// keysOf lists all keys below prefix.
func keysOf(t fataler, s objectstore.Store, prefix string) []string {
	t.Helper()
	page, err := s.List(context.Background(), objectstore.ListOptions{Prefix: prefix})
	if err != nil {
		t.Fatalf("List(%q): got %v, want nil", prefix, err)
	}
	keys := make([]string, len(page.Objects))
	for i, o := range page.Objects {
		keys[i] = o.Key
	}
	return keys
}
