package simulation_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/record"
)

// The AWS clients take most of the time of a history. In most histories what follows is in
// their place: it sends the same requests, but does not try again what is in doubt, so that
// whoever asked has to live with that more often.

// A direct is the store of an instance without the client of S3.
type direct struct {
	ask func(context.Context, *sent) verdict
}

// errServer is an answer of 500 or 503.
var errServer = errors.New("the server is broken or busy")

// readAttempts is how often a reading is tried, and a write that was refused for meeting
// another.
const readAttempts = 4

// send makes one request and returns what came of it in the terms of a store.
func (d *direct) send(ctx context.Context, method, key, query string, header http.Header, body []byte) (answer, error) {
	s := &sent{method: method, url: &url.URL{Path: "/bucket/" + key, RawQuery: query}, header: header, body: body}
	for attempt := 1; ; attempt++ {
		v := d.ask(ctx, s)
		again := attempt < readAttempts && ctx.Err() == nil
		switch {
		case v.err == nil && v.answer.status < 300:
			return v.answer, nil
		case v.err == nil && v.answer.status == http.StatusNotFound && !s.isWrite():
			return answer{}, objectstore.ErrNotExist
		case v.err == nil && v.answer.status == http.StatusNotFound, v.err == nil && v.answer.status == http.StatusPreconditionFailed:
			return answer{}, objectstore.ErrPrecondition
		case v.err == nil && v.answer.status == http.StatusConflict && again:
		case s.isWrite() && (v.err != nil || v.answer.status >= 500):
			return answer{}, fmt.Errorf("%w: %w", objectstore.ErrUnknownOutcome, errors.Join(v.err, ctx.Err()))
		case !again || errors.Is(v.err, errDied):
			return answer{}, errors.Join(errServer, v.err, ctx.Err())
		}
	}
}

func (d *direct) Get(ctx context.Context, key string) ([]byte, objectstore.Info, error) {
	if err := objectstore.CheckKey(key); err != nil {
		return nil, objectstore.Info{}, err
	}
	a, err := d.send(ctx, http.MethodGet, key, "", http.Header{}, nil)
	if err != nil {
		return nil, objectstore.Info{}, fmt.Errorf("get %q: %w", key, err)
	}
	return bytes.Clone(a.body), infoOf(key, a), nil
}

func infoOf(key string, a answer) objectstore.Info {
	size, _ := strconv.ParseInt(a.header.Get("Content-Length"), 10, 64)
	modified, _ := http.ParseTime(a.header.Get("Last-Modified"))
	return objectstore.Info{Key: key, Size: size, ETag: a.header.Get("ETag"), Modified: modified}
}

// GetRanges reads the whole object: one request less to decide about.
func (d *direct) GetRanges(ctx context.Context, key string, ranges ...objectstore.Range) ([][]byte, objectstore.Info, error) {
	data, info, err := d.Get(ctx, key)
	if err != nil {
		return nil, objectstore.Info{}, err
	}
	parts := make([][]byte, len(ranges))
	for i, r := range ranges {
		offset, length, err := r.Within(info.Size)
		if err != nil {
			return nil, objectstore.Info{}, fmt.Errorf("get ranges of %q: %w", key, err)
		}
		parts[i] = data[offset : offset+length : offset+length]
	}
	return parts, info, nil
}

// conditions are those of a write as S3 takes them.
func conditions(cond objectstore.Condition) http.Header {
	header := http.Header{}
	if cond.IfAbsent {
		header.Set("If-None-Match", "*")
	}
	if cond.IfMatch != "" {
		header.Set("If-Match", cond.IfMatch)
	}
	return header
}

func (d *direct) Put(ctx context.Context, key string, data []byte, cond objectstore.Condition) (objectstore.Info, error) {
	if err := objectstore.CheckPut(key, cond); err != nil {
		return objectstore.Info{}, err
	}
	a, err := d.send(ctx, http.MethodPut, key, "", conditions(cond), bytes.Clone(data))
	if err != nil {
		return objectstore.Info{}, fmt.Errorf("put %q: %w", key, err)
	}
	modified, _ := http.ParseTime(a.header.Get("Date"))
	return objectstore.Info{Key: key, Size: int64(len(data)), ETag: a.header.Get("ETag"), Modified: modified}, nil
}

func (d *direct) Delete(ctx context.Context, key string, cond objectstore.Condition) error {
	if err := objectstore.CheckDelete(key, cond); err != nil {
		return err
	}
	if _, err := d.send(ctx, http.MethodDelete, key, "", conditions(cond), nil); err != nil {
		return fmt.Errorf("delete %q: %w", key, err)
	}
	return nil
}

func (d *direct) List(ctx context.Context, opts objectstore.ListOptions) (objectstore.ListPage, error) {
	if err := objectstore.CheckList(opts); err != nil {
		return objectstore.ListPage{}, err
	}
	query := url.Values{"list-type": {"2"}, "prefix": {opts.Prefix}, "start-after": {opts.StartAfter}, "delimiter": {opts.Delimiter}}
	query.Set("max-keys", "1000000")
	if opts.Limit > 0 {
		query.Set("max-keys", strconv.Itoa(opts.Limit))
	}
	a, err := d.send(ctx, http.MethodGet, "", query.Encode(), http.Header{}, nil)
	if err != nil {
		return objectstore.ListPage{}, fmt.Errorf("list %q: %w", opts.Prefix, err)
	}
	var found listing
	if err := xml.Unmarshal(a.body, &found); err != nil {
		return objectstore.ListPage{}, err
	}
	page := objectstore.ListPage{More: found.IsTruncated}
	for _, o := range found.Contents {
		key, _ := url.QueryUnescape(o.Key)
		modified, _ := time.Parse(time.RFC3339, o.LastModified)
		page.Objects = append(page.Objects, objectstore.Info{Key: key, Size: int64(o.Size), ETag: o.ETag, Modified: modified})
	}
	for _, p := range found.CommonPrefixes {
		prefix, _ := url.QueryUnescape(p.Prefix)
		if prefix > opts.StartAfter {
			page.Prefixes = append(page.Prefixes, prefix)
		}
	}
	return page, nil
}

func (d *direct) Create(ctx context.Context, key string) (objectstore.Writer, error) {
	if err := objectstore.CheckKey(key); err != nil {
		return nil, err
	}
	return &upload{ctx: ctx, store: d, key: key}, nil
}

// An upload is one put in the end.
type upload struct {
	bytes.Buffer
	ctx   context.Context
	store *direct
	key   string
}

func (u *upload) Commit() (objectstore.Info, error) {
	return u.store.Put(u.ctx, u.key, u.Bytes(), objectstore.Condition{})
}

func (u *upload) Abort() error { return nil }

// records are those of an instance without the client of DynamoDB.
type records struct {
	ask func(context.Context, *sent) verdict
	now func() time.Time
}

func (r *records) send(ctx context.Context, operation string, in tableRequest) (map[string]json.RawMessage, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	s := &sent{method: http.MethodPost, url: &url.URL{}, header: http.Header{"X-Amz-Target": {"DynamoDB." + operation}}, body: body}
	for attempt := 1; ; attempt++ {
		v := r.ask(ctx, s)
		switch {
		case v.err == nil && v.answer.status < 300:
			var out map[string]json.RawMessage
			return out, json.Unmarshal(v.answer.body, &out)
		case v.err == nil && strings.Contains(string(v.answer.body), "ConditionalCheckFailed"):
			return nil, record.ErrConflict
		case s.isWrite():
			return nil, fmt.Errorf("%w: %w", record.ErrUnknownOutcome, errors.Join(v.err, ctx.Err()))
		case attempt == readAttempts || ctx.Err() != nil || errors.Is(v.err, errDied):
			return nil, errors.Join(errServer, v.err, ctx.Err())
		}
	}
}

func itemKey(key string) item {
	folder, name := record.SplitKey(key)
	return item{"folder": {"S": folder}, "name": {"S": name}}
}

// recordOf reads an item.
func recordOf(i item) record.Record {
	r := record.Record{
		Key: i["folder"]["S"] + "/" + i["name"]["S"], Value: json.RawMessage(i["value"]["S"]), Version: i["write"]["S"],
	}
	if seconds, err := strconv.ParseInt(i["expires"]["N"], 10, 64); err == nil {
		r.Expires = time.Unix(seconds, 0)
	}
	return r
}

func (r *records) Get(ctx context.Context, key string) (record.Record, error) {
	out, err := r.send(ctx, "GetItem", tableRequest{Key: itemKey(key)})
	if err != nil {
		return record.Record{}, err
	}
	var found item
	if err := json.Unmarshal(out["Item"], &found); err != nil {
		return record.Record{}, err
	}
	if got := recordOf(found); len(found) > 0 && !got.Expired(r.now()) {
		return got, nil
	}
	return record.Record{}, record.ErrNotExist
}

func (r *records) Put(ctx context.Context, put record.Record) (string, error) {
	if err := put.Check(); err != nil {
		return "", err
	}
	in := tableRequest{Item: itemKey(put.Key)}
	version := rand.Text()
	in.Item["value"], in.Item["write"] = map[string]string{"S": string(put.Value)}, map[string]string{"S": version}
	if !put.Expires.IsZero() {
		in.Item["expires"] = map[string]string{"N": strconv.FormatInt(put.Expires.Unix(), 10)}
	}
	in.condition(put.Version, r.now())
	if _, err := r.send(ctx, "PutItem", in); err != nil {
		return "", err
	}
	return version, nil
}

// condition asks for a version of an item, or for none.
func (in *tableRequest) condition(version string, now time.Time) {
	in.ConditionExpression = "#write = :version"
	in.ExpressionAttributeValues = item{":version": {"S": version}}
	if version == "" {
		in.ConditionExpression = "attribute_not_exists(folder) OR expires <= :now"
		in.ExpressionAttributeValues = item{":now": {"N": strconv.FormatInt(now.Unix(), 10)}}
	}
}

func (r *records) Delete(ctx context.Context, key, version string) error {
	if version == "" {
		return record.ErrConflict
	}
	in := tableRequest{Key: itemKey(key)}
	in.condition(version, r.now())
	_, err := r.send(ctx, "DeleteItem", in)
	return err
}

func (r *records) List(ctx context.Context, folder, after string, limit int) (record.Page, error) {
	if err := record.CheckList(folder, limit); err != nil {
		return record.Page{}, err
	}
	in := tableRequest{Limit: limit, ExpressionAttributeValues: item{":folder": {"S": folder}}, ExclusiveStartKey: item{"name": {"S": after}}}
	out, err := r.send(ctx, "Query", in)
	if err != nil {
		return record.Page{}, err
	}
	var items []item
	var last item
	if err := json.Unmarshal(out["Items"], &items); err != nil {
		return record.Page{}, err
	}
	if out["LastEvaluatedKey"] != nil {
		if err := json.Unmarshal(out["LastEvaluatedKey"], &last); err != nil {
			return record.Page{}, err
		}
	}
	page := record.Page{Next: last["name"]["S"]}
	for _, i := range items {
		if found := recordOf(i); !found.Expired(r.now()) {
			page.Records = append(page.Records, found)
		}
	}
	return page, nil
}
