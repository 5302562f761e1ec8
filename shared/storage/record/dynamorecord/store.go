// Package dynamorecord keeps records in a DynamoDB table, one item each:
//
//	folder   S  partition key
//	name     S  sort key
//	value    S  the JSON text
//	write    S  random id of the write that made the item
//	after    S  id of the write that it replaced; "" for none
//	expires  N  seconds since 1970; absent for never
//
// The table's time-to-live attribute must be expires. DynamoDB deletes expired items late, so the store
// itself also treats them as missing. All reads are consistent.
package dynamorecord

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"tiltyard/shared/storage/cloud"
	"tiltyard/shared/storage/format"
	"tiltyard/shared/storage/record"
)

// A Store holds records in a table.
type Store struct {
	client *dynamodb.Client
	table  string
	now    func() time.Time
}

// Open is New with a client of its own.
func Open(c aws.Config, table string, now func() time.Time) record.Store {
	return New(dynamodb.NewFromConfig(c), table, now)
}

// New returns the records of an existing table. It sends no request.
func New(client *dynamodb.Client, table string, now func() time.Time) *Store {
	return &Store{client: client, table: table, now: now}
}

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func seconds(t time.Time) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(t.Unix(), 10)}
}

func keyOf(key string) item {
	folder, name := record.SplitKey(key)
	return item{"folder": text(folder), "name": text(name)}
}

// Get returns a record.
func (s *Store) Get(ctx context.Context, key string) (record.Record, error) {
	if err := record.CheckKey(key); err != nil {
		return record.Record{}, err
	}
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &s.table, Key: keyOf(key), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return record.Record{}, fmt.Errorf("get record %s: %w", key, err)
	}
	found, err := decode(out.Item)
	if err == nil && (len(out.Item) == 0 || found.Expired(s.now())) {
		err = record.ErrNotExist
	}
	if err != nil {
		return record.Record{}, fmt.Errorf("get record %s: %w", key, err)
	}
	return found, nil
}

// decode reads an item. A missing item is the zero record.
func decode(i item) (record.Record, error) {
	if len(i) == 0 {
		return record.Record{}, nil
	}
	if err := understood(i); err != nil {
		return record.Record{}, err
	}
	r := record.Record{
		Key:     textOf(i, "folder") + "/" + textOf(i, "name"),
		Value:   json.RawMessage(textOf(i, "value")),
		Version: textOf(i, "write"),
	}
	if expires, ok := i["expires"].(*types.AttributeValueMemberN); ok {
		at, err := strconv.ParseInt(expires.Value, 10, 64)
		if err != nil {
			return record.Record{}, fmt.Errorf("attribute expires: %w", err)
		}
		r.Expires = time.Unix(at, 0)
	}
	return r, nil
}

// understood returns an error for an item with attributes of a newer release, because a put by this release
// would drop them.
func understood(i item) error {
	for name := range i {
		switch name {
		case "folder", "name", "value", "write", "after", "expires":
		default:
			return format.Unknown("record "+textOf(i, "folder")+"/"+textOf(i, "name"), "attribute "+name)
		}
	}
	return nil
}

// textOf returns a string attribute, or "" for any other type.
func textOf(i item, name string) string {
	s, _ := i[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// Put writes a record. The client library may send it several times if it gets no answer. If the condition
// fails, the current item shows whether an earlier attempt succeeded, unless other writers have written
// more than once since then.
func (s *Store) Put(ctx context.Context, r record.Record) (version string, err error) {
	if err := r.Check(); err != nil {
		return "", err
	}
	if err := cloud.Begins(ctx); err != nil {
		return "", fmt.Errorf("put record %s: %w", r.Key, err)
	}
	mine := record.Trace{Write: rand.Text(), After: r.Version}
	doubt := false
	_, err = s.client.PutItem(ctx, s.putInput(r, mine), doubting(&doubt))
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return mine.Write, nil
	case errors.As(err, &failed):
		there := record.Trace{Write: textOf(failed.Item, "write"), After: textOf(failed.Item, "after")}
		if !doubt {
			err = record.ErrConflict
		} else if err = mine.Settle(there); err == nil {
			return mine.Write, nil
		}
	case doubt:
		err = fmt.Errorf("%w: %w", record.ErrUnknownOutcome, err)
	}
	return "", fmt.Errorf("put record %s: %w", r.Key, err)
}

// doubting sets doubt when a failed try may have been carried out.
func doubting(doubt *bool) func(*dynamodb.Options) {
	watch := middleware.FinalizeMiddlewareFunc("Doubt", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		out, metadata, err := next.HandleFinalize(ctx, in)
		*doubt = *doubt || err != nil && cloud.Doubtful(err)
		return out, metadata, err
	})
	return func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Finalize.Insert(watch, "Retry", middleware.After)
		})
	}
}

// putInput returns the conditional put of a record. A record without a version may replace an expired item,
// which DynamoDB has not deleted yet.
func (s *Store) putInput(r record.Record, mine record.Trace) *dynamodb.PutItemInput {
	in := &dynamodb.PutItemInput{
		TableName: &s.table, Item: keyOf(r.Key),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	in.Item["value"], in.Item["write"], in.Item["after"] = text(string(r.Value)), text(mine.Write), text(mine.After)
	if !r.Expires.IsZero() {
		in.Item["expires"] = seconds(r.Expires)
	}
	if r.Version == "" {
		in.ConditionExpression = aws.String("attribute_not_exists(folder) OR expires <= :now")
		in.ExpressionAttributeValues = item{":now": seconds(s.now())}
		return in
	}
	in.ConditionExpression = aws.String("#write = :version")
	in.ExpressionAttributeNames = map[string]string{"#write": "write"}
	in.ExpressionAttributeValues = item{":version": text(r.Version)}
	return in
}

// Delete removes a record. The client library may send it several times if it gets no answer. If a later
// attempt finds no record, the version is gone as intended, so that is a success.
func (s *Store) Delete(ctx context.Context, key, version string) error {
	if err := record.CheckKey(key); err != nil {
		return err
	}
	if err := cloud.Begins(ctx); err != nil {
		return fmt.Errorf("delete record %s: %w", key, err)
	}
	doubt := false
	_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.table, Key: keyOf(key),
		ConditionExpression:                 aws.String("#write = :version"),
		ExpressionAttributeNames:            map[string]string{"#write": "write"},
		ExpressionAttributeValues:           item{":version": text(version)},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}, doubting(&doubt))
	var failed *types.ConditionalCheckFailedException
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		err = record.ErrConflict
		if doubt && len(failed.Item) == 0 {
			return nil
		}
		if doubt && textOf(failed.Item, "after") != version {
			err = record.ErrUnknownOutcome
		}
	case doubt:
		err = fmt.Errorf("%w: %w", record.ErrUnknownOutcome, err)
	}
	return fmt.Errorf("delete record %s: %w", key, err)
}

// List returns records of a folder.
func (s *Store) List(ctx context.Context, folder, after string, limit int) (record.Page, error) {
	if err := record.CheckList(folder, limit); err != nil {
		return record.Page{}, err
	}
	in := &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(min(limit, maxQuery))),
		KeyConditionExpression:    aws.String("folder = :folder"),
		ExpressionAttributeValues: item{":folder": text(folder)},
	}
	if after != "" {
		in.ExclusiveStartKey = item{"folder": text(folder), "name": text(after)}
	}
	out, err := s.client.Query(ctx, in)
	if err != nil {
		return record.Page{}, fmt.Errorf("list records of %s: %w", folder, err)
	}
	page := record.Page{Next: textOf(out.LastEvaluatedKey, "name")}
	for _, found := range out.Items {
		r, err := decode(found)
		if err != nil {
			return record.Page{}, fmt.Errorf("list records of %s: %w", folder, err)
		}
		if !r.Expired(s.now()) {
			page.Records = append(page.Records, r)
		}
	}
	return page, nil
}

// maxQuery is the number of items per query; a response is limited to 1 MiB anyway.
const maxQuery = 1000
