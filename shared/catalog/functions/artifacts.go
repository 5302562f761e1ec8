package functions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/storage/objectstore"
)

// The content of an artifact is a new object for each request that uploads it:
//
// 	_functions/artifacts/<SHA-256 of the content>/<unique id>
//
// The request writes the object, and the job that makes the version refers to it in the record of
// the function. An object that no record refers to belongs to a failed job, to a version that
// existed before, or to a dropped function. A sweep deletes it once no job can refer to it any
// more.

// CallsFolder contains data that is too large for the body of a function call. Workers put it there
// until the call ends.
const CallsFolder = "_functions/calls/"

const artifacts = "_functions/artifacts/"

// artifactTime is how long after its upload a new version may refer to an artifact. It is shorter
// than the minimum age for a sweep, by more than a sweep and a write of a record take.
const artifactTime = objects.MinSweepAge / 2

// PutArtifact stores the content of an artifact with the given digest, and returns its key.
func (f *Functions) PutArtifact(ctx context.Context, digest string, content []byte) (key string, err error) {
	key = artifacts + strings.TrimPrefix(digest, "sha256:") + "/" + objects.NewUID()
	if _, err := f.names.Store.Put(ctx, key, content, objectstore.Condition{}); err != nil {
		return "", fmt.Errorf("put artifact: %w", err)
	}
	return key, nil
}

// Artifact returns the content of an artifact and its upload time. The memory of the content is
// reserved until the allotment in the context closes. A content with another digest is an error.
func (f *Functions) Artifact(ctx context.Context, key, digest string) (content []byte, came time.Time, err error) {
	_, info, err := f.names.Store.GetRanges(ctx, key)
	if err == nil {
		err = memory.FromContext(ctx).Take(ctx, info.Size)
	}
	if err == nil {
		content, info, err = f.names.Store.Get(ctx, key)
	}
	if objects.Missing(err) {
		return nil, came, &protocol.Error{
			Code: protocol.TableNotFound, Kind: protocol.FunctionNotFound, Message: "the artifact of the function does not exist any more",
			Detail: "create the function again", Err: err,
		}
	}
	if err != nil {
		return nil, came, fmt.Errorf("get artifact %s: %w", key, err)
	}
	if got := functionapi.DigestOf(content); got != digest {
		return nil, came, &protocol.Error{
			Code: protocol.InvalidTableState, Damaged: true, Message: "the artifact of the function is damaged: its content is not that of its digest",
			Detail: "drop the function and create it again", Err: fmt.Errorf("artifact %s has the digest %s", key, got),
		}
	}
	return content, info.Modified, nil
}

// MayName reports whether a version may still refer to an artifact, given its upload time.
func (f *Functions) MayName(came time.Time) bool {
	return f.names.Now().Sub(came) < artifactTime
}

// Sweep deletes artifacts older than the given time that no record refers to.
func (f *Functions) Sweep(ctx context.Context, oldest time.Time) (deleted int, err error) {
	var old []string // before the records are read
	opts := objectstore.ListOptions{Prefix: artifacts, Limit: objects.PageSize}
	for object, err := range objectstore.Objects(ctx, f.names.Store, opts) {
		if err != nil {
			return 0, fmt.Errorf("sweep artifacts: %w", err)
		}
		if object.Modified.Before(oldest) {
			old = append(old, object.Key)
		}
	}
	if len(old) == 0 {
		return 0, nil
	}
	named, err := f.namedArtifacts(ctx)
	if err != nil {
		return 0, fmt.Errorf("sweep artifacts: %w", err)
	}
	for _, key := range old {
		if named[key] {
			continue
		}
		if err := f.names.Store.Delete(ctx, key, objectstore.Condition{}); objects.IgnoreMissing(err) != nil {
			return deleted, fmt.Errorf("sweep artifact %s: %w", key, err)
		}
		deleted++
	}
	return deleted, nil
}

// namedArtifacts returns the keys of the artifacts in the records of all functions.
func (f *Functions) namedArtifacts(ctx context.Context) (map[string]bool, error) {
	named := map[string]bool{}
	opts := objectstore.ListOptions{Prefix: keys.Records, Limit: objects.PageSize}
	for object, err := range objectstore.Objects(ctx, f.names.Store, opts) {
		if err != nil {
			return nil, err
		}
		if !keys.Functions.Has(object.Key) {
			continue
		}
		record := new(stored.Function)
		if _, found, err := f.names.Store.Find(ctx, object.Key, record); err != nil {
			return nil, err
		} else if !found {
			continue
		}
		for _, v := range record.Versions {
			named[v.Artifact] = true
		}
	}
	return named, nil
}
