package boot

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tiltyard/shared/storage/cloud"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/objectrecord"
)

// recordsScheme is the prefix of the name of a DynamoDB table.
const recordsScheme = "dynamodb://"

// recordsAttempt is the time limit of one attempt at a DynamoDB request. An answer usually takes milliseconds.
const recordsAttempt = time.Second

// openRecords opens the records of transactions and stored answers. They are in the root, unless a
// DynamoDB table is configured. It sends no request.
func openRecords(c Config, clients Clients, objects *objectstore.Roots, now func() time.Time) (record.Store, error) {
	table, ok := strings.CutPrefix(c.Records, recordsScheme)
	if !ok {
		return objectrecord.Open(objects.Home().Store, now), nil
	}
	if clients.Records == nil {
		return noRecords{}, nil
	}
	aws, err := clients.of(cloud.Service{Name: "DynamoDB", What: "the table of records in DynamoDB", Attempt: recordsAttempt})
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	return countedRecords{tracedRecords(c, clients.Records(aws, table, now))}, nil
}

// noRecords are the records of a program without a client for them. Reaching them is a mistake in the program.
type noRecords struct{}

var errNoRecords = errors.New("this program has no client for its records")

func (noRecords) Get(context.Context, string) (record.Record, error) {
	return record.Record{}, errNoRecords
}
func (noRecords) Put(context.Context, record.Record) (string, error) { return "", errNoRecords }
func (noRecords) Delete(context.Context, string, string) error       { return errNoRecords }
func (noRecords) List(context.Context, string, string, int) (record.Page, error) {
	return record.Page{}, errNoRecords
}

// countedRecords counts the requests to a record store that is not an object store, for the log.
type countedRecords struct{ record.Store }

func (c countedRecords) Get(ctx context.Context, key string) (record.Record, error) {
	r, err := c.Store.Get(ctx, key)
	objectstore.Count(ctx, true, 1, len(r.Value))
	return r, err
}

func (c countedRecords) Put(ctx context.Context, r record.Record) (version string, err error) {
	objectstore.Count(ctx, false, 1, len(r.Value))
	return c.Store.Put(ctx, r)
}

func (c countedRecords) Delete(ctx context.Context, key, version string) error {
	objectstore.Count(ctx, false, 1, 0)
	return c.Store.Delete(ctx, key, version)
}

func (c countedRecords) List(ctx context.Context, folder, after string, limit int) (record.Page, error) {
	objectstore.Count(ctx, true, 1, 0)
	return c.Store.List(ctx, folder, after, limit)
}

// parseRecords accepts the URL of a DynamoDB table.
func parseRecords(text string) (string, error) {
	table, ok := strings.CutPrefix(text, recordsScheme)
	if !ok || table == "" || strings.ContainsFunc(table, oddInTableName) {
		return "", fmt.Errorf("must be %sTABLE", recordsScheme)
	}
	return text, nil
}

// oddInTableName reports whether DynamoDB does not allow a character in the name of a table.
func oddInTableName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.-", r)
}
