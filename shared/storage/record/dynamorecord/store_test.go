package dynamorecord_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"tiltyard/shared/storage/format"
	"tiltyard/shared/storage/record"
	"tiltyard/shared/storage/record/dynamorecord"
	"tiltyard/shared/storage/record/recordtest"
)

func clientOf(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: &endpoint, Region: "us-east-1",
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		}),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	})
}

// TILTYARD_TEST_DYNAMODB is the endpoint of a server of the protocol, one that anything may
// be done to.
func TestDynamoDBIsAStoreOfRecords(t *testing.T) {
	endpoint := os.Getenv("TILTYARD_TEST_DYNAMODB")
	if endpoint == "" {
		t.Skip("TILTYARD_TEST_DYNAMODB names no endpoint: DynamoDB WAS NOT TESTED")
	}
	client := clientOf(endpoint)
	table := "records-" + time.Now().Format("20060102-150405.000000")
	createTable(t, client, table)
	recordtest.Run(t, func(_ *testing.T, now func() time.Time) record.Store { return dynamorecord.New(client, table, now) })
}

func createTable(t *testing.T, client *dynamodb.Client, name string) {
	t.Helper()
	if err := dynamorecord.CreateTable(t.Context(), client, name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, err := client.DeleteTable(context.WithoutCancel(t.Context()), &dynamodb.DeleteTableInput{TableName: &name})
		if gone := new(types.ResourceNotFoundException); err != nil && !errors.As(err, &gone) { // by a try whose answer was lost
			t.Errorf("delete the table: %v", err)
		}
	})
}

// script returns the records of a server that answers by serve.
func script(t *testing.T, answers ...func(w http.ResponseWriter, write string)) *dynamorecord.Store {
	t.Helper()
	return dynamorecord.New(serve(t, answers...), "t", time.Now)
}

// serve returns a client of a server that gives one answer after the other. An answer may hold
// {write}: the name of the write that was sent.
func serve(t *testing.T, answers ...func(w http.ResponseWriter, write string)) *dynamodb.Client {
	t.Helper()
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent struct {
			Item struct{ Write struct{ S string } }
		}
		if err == nil && len(body) > 0 {
			err = json.Unmarshal(body, &sent)
		}
		n := int(served.Add(1))
		if err != nil || n > len(answers) {
			t.Errorf("request %d: %v, want %d requests", n, err, len(answers))
			return
		}
		answers[n-1](w, sent.Item.Write.S)
	}))
	t.Cleanup(func() {
		server.Close()
		if n := int(served.Load()); n != len(answers) {
			t.Errorf("got %d requests, want %d", n, len(answers))
		}
	})
	return clientOf(server.URL)
}

func answer(status int, body string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, write string) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "{write}", write))
	}
}

func TestAnswersOfPut(t *testing.T) {
	const fails = `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no","Item":{"write":{"S":"`
	broken := answer(500, `{"__type":"InternalServerError"}`)
	throttled := answer(400, `{"__type":"ThrottlingException"}`)
	lost := func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) }
	type answers = []func(http.ResponseWriter, string)
	for _, test := range []struct {
		name    string
		answers answers
		want    error
	}{
		{"written", answers{answer(200, `{}`)}, nil},
		{"another is there", answers{answer(400, fails+`x"},"after":{"S":"old"}}}`)}, record.ErrConflict},
		{"others are there", answers{answer(400, fails+`y"},"after":{"S":"x"}}}`)}, record.ErrConflict},
		{"another was before the second try", answers{broken, answer(400, fails+`x"},"after":{"S":"old"}}}`)}, record.ErrConflict},
		{"others were before the second try", answers{lost, answer(400, fails+`y"},"after":{"S":"x"}}}`)}, record.ErrUnknownOutcome},
		{"nothing is there for the second try", answers{lost, answer(400, `{"__type":"ConditionalCheckFailedException"}`)}, record.ErrUnknownOutcome},
		{"nothing is there", answers{answer(400, `{"__type":"ConditionalCheckFailedException"}`)}, record.ErrConflict},
		{"the first try had won", answers{broken, answer(400, fails+`{write}"},"after":{"S":"old"}}}`)}, nil},
		{"the first try had won and its answer was lost", answers{lost, answer(400, fails+`{write}"},"after":{"S":"old"}}}`)}, nil},
		{"the first try had won and was followed", answers{broken, answer(400, fails+`next"},"after":{"S":"{write}"}}}`)}, nil},
		{"busy, then written", answers{throttled, answer(200, `{}`)}, nil},
		{"broken for good", answers{broken, broken, broken}, record.ErrUnknownOutcome},
		{"busy, then another is there", answers{throttled, answer(400, fails+`y"},"after":{"S":"x"}}}`)}, record.ErrConflict},
		{"lost, then busy", answers{lost, throttled, throttled}, record.ErrUnknownOutcome},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := script(t, test.answers...)
			_, err := s.Put(t.Context(), record.Record{Key: "f/a", Value: json.RawMessage("1"), Version: "old"})
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestCreateTableTakesATableThatExists(t *testing.T) {
	lost := func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) }
	taken := answer(400, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceInUseException"}`)
	denied := answer(400, `{"__type":"com.amazon.coral.service#AccessDeniedException"}`)
	active := answer(200, `{"Table":{"TableStatus":"ACTIVE"}}`)
	for _, test := range []struct {
		name    string
		answers []func(http.ResponseWriter, string)
		fails   bool
	}{
		{"new", []func(http.ResponseWriter, string){answer(200, `{}`), active}, false},
		{"the answer of the first try was lost", []func(http.ResponseWriter, string){lost, taken, active}, false},
		{"denied", []func(http.ResponseWriter, string){denied}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := dynamorecord.CreateTable(t.Context(), serve(t, test.answers...), "t"); (err != nil) != test.fails {
				t.Errorf("got %v, want a failure: %v", err, test.fails)
			}
		})
	}
}

// A put would lose the attributes that a newer release has given to an item.
func TestItemsOfNewerReleasesAreRefused(t *testing.T) {
	const head, tail = `{"folder":{"S":"job"},"name":{"S":"a"},"write":{"S":"w"},"value":{"S":"1"}`, `}`
	s := script(t, answer(200, `{"Item":`+head+tail+`}`), answer(200, `{"Item":`+head+`,"shade":{"S":"x"}`+tail+`}`))
	if _, err := s.Get(t.Context(), "job/a"); err != nil {
		t.Errorf("an item of this release: %v", err)
	}
	if _, err := s.Get(t.Context(), "job/a"); !format.Newer(err) {
		t.Errorf("an item with another attribute: got %v, want that a newer release wrote it", err)
	}
}

func TestAnswersOfDelete(t *testing.T) {
	const fails = `{"__type":"ConditionalCheckFailedException","Item":{"write":{"S":"new"},"after":{"S":"`
	broken := answer(500, `{"__type":"InternalServerError"}`)
	lost := func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) }
	gone := answer(400, `{"__type":"ConditionalCheckFailedException"}`)
	type answers = []func(http.ResponseWriter, string)
	for _, test := range []struct {
		name    string
		answers answers
		want    error
	}{
		{"deleted", answers{answer(200, `{}`)}, nil},
		{"nothing is there", answers{gone}, record.ErrConflict},
		{"another is there", answers{answer(400, fails+`x"}}}`)}, record.ErrConflict},
		{"the first try had deleted it", answers{lost, gone}, nil},
		{"replaced before the second try", answers{lost, answer(400, fails+`old"}}}`)}, record.ErrConflict},
		{"others are there for the second try", answers{broken, answer(400, fails+`x"}}}`)}, record.ErrUnknownOutcome},
		{"broken for good", answers{broken, broken, broken}, record.ErrUnknownOutcome},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := script(t, test.answers...)
			if err := s.Delete(t.Context(), "f/a", "old"); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestRequestThatIsRefusedDidNotHappen(t *testing.T) {
	missing := answer(400, `{"__type":"ResourceNotFoundException","message":"no such table"}`)
	throttled := answer(400, `{"__type":"ThrottlingException"}`)
	for name, answers := range map[string][]func(http.ResponseWriter, string){"no table": {missing}, "busy": {throttled, throttled, throttled}} {
		s := script(t, answers...)
		_, err := s.Put(t.Context(), record.Record{Key: "f/a", Value: json.RawMessage("1")})
		if err == nil || errors.Is(err, record.ErrUnknownOutcome) || errors.Is(err, record.ErrConflict) {
			t.Errorf("%s: got %v, want an error that settles it", name, err)
		}
	}
}

// A write whose outcome might not be known at the deadline is not begun.
func TestWritesAreNotBegunAtTheLastMoment(t *testing.T) {
	s := script(t)
	ctx, cancel := context.WithTimeout(t.Context(), 900*time.Millisecond)
	defer cancel()
	_, put := s.Put(ctx, record.Record{Key: "f/a", Value: json.RawMessage("1")})
	for _, err := range []error{put, s.Delete(ctx, "f/a", "v")} {
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, record.ErrUnknownOutcome) {
			t.Errorf("got %v, want an error of the deadline", err)
		}
	}
}
