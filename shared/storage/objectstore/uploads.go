package objectstore

import (
	"context"
	"time"
)

// An Uploader is a Store whose server keeps the parts of an upload until it is completed or aborted, like
// S3. A crashed process leaves its uploads behind. Listings do not contain them, but they cost as much as
// objects.
type Uploader interface {
	// Unfinished returns the number of uploads that were begun before a time and are neither completed nor
	// aborted, and the key of the first of them.
	Unfinished(ctx context.Context, before time.Time) (count int, first string, err error)
	// AbortUnfinished aborts these uploads, and returns their number.
	AbortUnfinished(ctx context.Context, before time.Time) (aborted int, err error)
}

// UploaderOf returns the store within wrappers if its server keeps uploads, else nil.
func UploaderOf(s Store) Uploader {
	uploader, _ := Innermost(s).(Uploader)
	return uploader
}
