package s3store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"tiltyard/shared/storage/objectstore"
)

// Some servers implement a conditional delete in two steps, a comparison of the ETag and a delete, or lack
// it. Two concurrent deletes of one object may then both succeed, and the slower one may remove an object
// created after the quicker one. The conditional puts of these servers are atomic, so the store first
// replaces the object by a mark, if its ETag matches, and then deletes the mark. An object with the content
// of a mark counts as absent: reads and listings skip it. No put replaces it before markAge, while its
// deletion may still be in flight.

// mark is the content of an object that is being deleted. Its length is unusual, so that a listing
// shows which objects may be marks.
const mark = "Tiltyard was deleting this object, which counts as absent. Do not change it: the next object of this name replaces it. 7c0e5b1d\n"

// markAge is the time during which the maker of a mark may still delete it, with a margin for clock skew. A
// crash leaves a mark behind; a put after this time replaces it.
const markAge = 15 * time.Minute

// markTime is the timeout for the deletion of a mark.
const markTime = 30 * time.Second

// twoSteps are servers, by the beginning of their Server header, that refuse the conditional delete of a
// missing object like S3, but compare and delete in two steps: under load a put between the two was
// deleted.
var twoSteps = []string{"SeaweedFS"}

// exactDeletes reports whether conditional deletes of the server are reliable. The first caller tests it,
// and concurrent ones wait: most servers with two-step deletes reveal themselves in their answer to a
// conditional delete of a missing object.
func (s *Store) exactDeletes(ctx context.Context) (bool, error) {
	if s.server.isS3 {
		return true, nil
	}
	if known := s.server.exactDeletes.Load(); known != nil {
		return *known, nil
	}
	full := s.prefix + objectstore.ReservedName + "/absent-" + rand.Text()
	_, _, err := do(ctx, s, request{"delete", full, 0, writes}, func(ctx context.Context, _ *attempt) (*s3.DeleteObjectOutput, error) {
		return s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &full, IfMatch: aws.String(`"` + rand.Text() + `"`)})
	})
	exact := isMissing(err) || isStatus(err, http.StatusPreconditionFailed)
	if err != nil && !exact && !isStatus(err, http.StatusNotImplemented) {
		return false, fmt.Errorf("ask for conditional deletes: %w", err)
	}
	exact = exact && !isTwoSteps(err)
	s.server.exactDeletes.Store(&exact)
	return exact, nil
}

// isTwoSteps reports whether the refusal of a conditional delete came from a server in twoSteps.
func isTwoSteps(refusal error) bool {
	var answer *smithyhttp.ResponseError
	if !errors.As(refusal, &answer) || answer.Response == nil {
		return false
	}
	name := answer.Response.Header.Get("Server")
	return slices.ContainsFunc(twoSteps, func(begins string) bool { return strings.HasPrefix(name, begins) })
}

// markAndDelete deletes the object with the ETag of cond. The object counts as deleted once the mark is
// written.
func (s *Store) markAndDelete(ctx context.Context, key, full string, cond objectstore.Condition) error {
	if _, err := s.put(ctx, key, full, []byte(mark), cond); err != nil {
		return err
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), markTime)
	defer done()
	if err := s.delete(ctx, full, objectstore.Condition{}); err != nil {
		s.log.WarnContext(ctx, "the mark of a deleted object was not removed, and is replaced later", "key", full, "error", err)
	}
	return nil
}

// mayBeMark reports whether an object has the size of a mark.
func (s *Store) mayBeMark(info objectstore.Info) bool {
	return !s.server.isS3 && info.Size == int64(len(mark))
}

// isMark reports whether an object is a mark, and returns that of a mark.
func (s *Store) isMark(ctx context.Context, key, full string) (objectstore.Info, bool, error) {
	data, info, err := s.get(ctx, key, full)
	if errors.Is(err, objectstore.ErrNotExist) {
		return info, false, nil
	}
	return info, string(data) == mark, err
}

// replaceMark puts an object in place of a mark that a crash has left. The error is ErrPrecondition if the
// key has any other object.
func (s *Store) replaceMark(ctx context.Context, key, full string, data []byte) (objectstore.Info, error) {
	there, marked, err := s.isMark(ctx, key, full)
	if err != nil || !marked || time.Since(there.Modified) < markAge {
		return objectstore.Info{}, objectstore.ErrPrecondition // whatever the reason, the put did not happen
	}
	return s.put(ctx, key, full, data, objectstore.Condition{IfMatch: there.ETag})
}

// withoutMarks removes the marks from the objects of a listing.
func (s *Store) withoutMarks(ctx context.Context, objects []objectstore.Info) ([]objectstore.Info, error) {
	kept := objects[:0]
	for _, o := range objects {
		if s.mayBeMark(o) {
			switch _, marked, err := s.isMark(ctx, o.Key, s.prefix+o.Key); {
			case err != nil:
				return nil, err
			case marked:
				continue
			}
		}
		kept = append(kept, o)
	}
	return kept, nil
}
