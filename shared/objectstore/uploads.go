package objectstore

import (
	"context"
	"time"
)

// An Uploader is a Store whose server keeps the parts of an upload until it is completed or aborted, as S3
// does. A process that dies leaves its uploads behind. No list of objects shows them, and they cost what
// objects do.
type Uploader interface {
	// Unfinished reports the uploads that were begun before a time and are neither completed nor aborted: how
	// many there are, and the key of the first of them.
	Unfinished(ctx context.Context, before time.Time) (count int, first string, err error)
	// AbortUnfinished aborts them, and returns how many it has aborted.
	AbortUnfinished(ctx context.Context, before time.Time) (aborted int, err error)
}

// UploaderOf returns the store within wrappers if its server keeps uploads, else nil.
func UploaderOf(s Store) Uploader {
	uploader, _ := Innermost(s).(Uploader)
	return uploader
}
