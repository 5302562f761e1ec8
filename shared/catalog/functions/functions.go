// Package functions keeps user-defined functions: records with names and versions of their own
// (functions.go), and the content of their artifacts (artifacts.go).
package functions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tiltyard/shared/catalog/builtin"
	"tiltyard/shared/catalog/keys"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/catalog/naming"
	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/catalog/stored"
	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/storage/objectstore"
)

// These limits bound the record of a function, which is read with every use of the function.
const (
	maxFunctionVersions = 1000
	maxFunctionBytes    = 2 << 20 // of all definitions
)

// Functions keeps functions. It is safe for concurrent use.
type Functions struct {
	names *naming.Registry
	lists *lists.Lists
}

// New returns the functions of a registry.
func New(names *naming.Registry, lists *lists.Lists) *Functions { return &Functions{names, lists} }

// Add adds a version to a function, and creates the function if the name is free. If a version with
// the same definition exists, Add returns that one, and adds the proof that it runs if it has none.
// It returns the record of the function and the number of the version. A missing parent is
// NamespaceNotFound.
func (f *Functions) Add(ctx context.Context, id []string, v stored.FunctionVersion) (record *stored.Function, number int, err error) {
	v.Created = f.names.Now().UTC()
	err = objects.Race{What: "function", ID: id, Wait: true}.Run(ctx, func(int) (done bool, err error) {
		record, number, err = f.add(ctx, id, v)
		return objects.Written(err)
	})
	return record, number, err
}

// add makes one attempt. objects.Changed(err) is true if another writer was faster.
func (f *Functions) add(ctx context.Context, id []string, v stored.FunctionVersion) (*stored.Function, int, error) {
	record := new(stored.Function)
	etag, found, err := f.names.Store.Find(ctx, keys.Function(id), record)
	if err != nil {
		return nil, 0, err
	}
	if !found {
		record = &stored.Function{ID: id, UID: objects.NewUID(), Created: v.Created, Versions: []stored.FunctionVersion{v}}
		_, err = f.names.CreateChild(ctx, id, keys.Function(id), record)
		return record, 1, err
	}
	at := slices.IndexFunc(record.Versions, func(old stored.FunctionVersion) bool { return old.Digest == v.Digest })
	if at >= 0 && (record.Versions[at].Proved || !v.Proved) {
		return record, at + 1, nil
	}
	if at >= 0 {
		record.Versions[at].Proved = true
	} else {
		at, record.Versions = len(record.Versions), append(record.Versions, v)
	}
	bytes := 0
	for _, one := range record.Versions {
		bytes += len(one.Definition)
	}
	if len(record.Versions) > maxFunctionVersions || bytes > maxFunctionBytes {
		return nil, 0, protocol.Errorf(protocol.InvalidInput, "function %s has %d versions already, which is as much as a name can hold; choose another name, or drop the function",
			keys.Display(id), len(record.Versions)-1)
	}
	_, err = f.names.Store.Write(ctx, keys.Function(id), record, objectstore.Condition{IfMatch: etag})
	return record, at + 1, err
}

// Get returns the record of a function. The error for a function that does not exist, or that
// policies hide, has the kind [protocol.FunctionNotFound].
func (f *Functions) Get(ctx context.Context, id []string) (*stored.Function, error) {
	record, _, err := f.find(ctx, id)
	return record, err
}

func (f *Functions) find(ctx context.Context, id []string) (record *stored.Function, etag string, err error) {
	if builtin.IsReserved(id) {
		record, err = builtin.Find(id)
		if err == nil && (record == nil || !auth.Sees(ctx, auth.Function(id))) {
			err = NotFound("function %s does not exist; list the functions of %s", keys.Display(id), builtin.Namespace)
		}
		return record, "", err
	}
	record = new(stored.Function)
	etag, found, err := f.names.Store.Find(ctx, keys.Function(id), record)
	switch {
	case !auth.Sees(ctx, auth.Function(id)), err == nil && !found:
		return nil, "", NotFound("function %s does not exist", keys.Display(id))
	case err != nil:
		return nil, "", err
	}
	return record, etag, nil
}

// NotFound returns an error of the kind [protocol.FunctionNotFound].
func NotFound(format string, args ...any) error {
	return &protocol.Error{Code: protocol.TableNotFound, Kind: protocol.FunctionNotFound, Message: fmt.Sprintf(format, args...)}
}

// Version returns a function and one of its versions, counted from 1. Errors are those of
// [Functions.Get].
func (f *Functions) Version(ctx context.Context, id []string, number int) (*stored.Function, *stored.FunctionVersion, error) {
	record, err := f.Get(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if number < 1 || number > len(record.Versions) {
		return nil, nil, NotFound("function %s has no version %d; the newest is %d", keys.Display(id), number, len(record.Versions))
	}
	return record, &record.Versions[number-1], nil
}

// Drop removes a function with all of its versions. Errors are those of [Functions.Get]. A sweep
// deletes the artifacts.
func (f *Functions) Drop(ctx context.Context, id []string) error {
	if builtin.IsReserved(id) {
		return builtin.Reserved()
	}
	return objects.Race{What: "function", ID: id, Wait: true}.Run(ctx, func(int) (done bool, err error) {
		record, etag, err := f.find(ctx, id)
		if err != nil {
			return true, err
		}
		return objects.Written(f.names.Store.Remove(ctx, keys.Function(id), record.UID, etag))
	})
}

// List returns the functions of a namespace in the order of names, after the given name: at most limit (lists.NoLimit: no
// bound), and fewer if they are large. Their memory is reserved until the allotment of the context closes. next is the
// start of the following page, empty at the end.
func (f *Functions) List(ctx context.Context, parent []string, after string, limit int) (all []*stored.Function, next string, err error) {
	const (
		pageNames = 100
		pageBytes = 4 << 20 // of definitions
	)
	if limit == lists.NoLimit || limit > pageNames {
		limit = pageNames
	}
	names, next, err := f.listNames(ctx, parent, after, limit)
	if err != nil {
		return nil, "", err
	}
	share, bytes := memory.FromContext(ctx), int64(0)
	for i, name := range names {
		record, err := f.Get(ctx, keys.Child(parent, name))
		if protocol.HasCode(err, protocol.TableNotFound) {
			continue // dropped since it was listed
		}
		if err != nil {
			return nil, "", err
		}
		size := int64(0)
		for _, v := range record.Versions {
			size += 512 + 3*int64(len(v.Definition)) // with the copy in the answer
		}
		if err := share.Take(ctx, size); err != nil {
			return nil, "", err
		}
		all = append(all, record)
		if bytes += size; bytes > pageBytes && i < len(names)-1 {
			return all, name, nil
		}
	}
	return all, next, nil
}

// listNames returns names as [lists.Lists.Names] does, for the reserved namespace as well.
func (f *Functions) listNames(ctx context.Context, parent []string, after string, limit int) ([]string, string, error) {
	if !builtin.IsReserved(parent) {
		return f.lists.Names(ctx, lists.Functions, parent, after, limit)
	}
	if len(parent) > 1 {
		return nil, "", naming.NamespaceNotFound(parent)
	}
	names := builtin.Names(after)
	if limit == 0 || len(names) <= limit {
		return names[:min(limit, len(names))], "", nil
	}
	return names[:limit], names[limit-1], nil
}

// disabledReason is the key, in the metadata of a version, of the reason why the version is
// disabled.
const disabledReason = "disabled_reason"

// Unproved returns the error for a version that no runtime has run yet.
func Unproved(id []string, version, kind string) error {
	setting := "an executor (TILTYARD_EXECUTOR)"
	if kind == "wasm" {
		setting = "WebAssembly (TILTYARD_WASM)"
	}
	return &protocol.Error{
		Code:    protocol.InvalidInput,
		Message: "function " + strings.Join(id, protocol.DefaultDelimiter) + " version " + version + " is disabled: there was no runtime of kind " + kind + " when it was created",
		Detail:  "configure " + setting + " in the service, and create the function again: it gets the same version, enabled",
	}
}

// reasonOf returns the message and detail of an error as one text for the metadata.
func reasonOf(err error) string {
	var known *protocol.Error
	if errors.As(err, &known) && known.Detail != "" {
		return known.Message + ": " + known.Detail
	}
	return err.Error()
}

// Describe returns a version of a function, counted from 1, as clients see it. A version is disabled if no runtime has
// proved it, or if runs, which may be nil, returns an error because no runtime can run it now. The metadata has the
// reason.
func Describe(record *stored.Function, number int, runs func(runtime []byte) error) (*functionapi.Version, error) {
	v := record.Versions[number-1]
	var d functionapi.Definition
	if err := json.Unmarshal(v.Definition, &d); err != nil {
		return nil, fmt.Errorf("definition of function %s: %w", keys.Display(record.ID), err)
	}
	var disabled error
	if !v.Proved {
		disabled = Unproved(record.ID, strconv.Itoa(number), d.RuntimeKind())
	} else if runs != nil {
		disabled = runs(d.Runtime)
	}
	var metadata protocol.Properties
	if disabled != nil {
		metadata = protocol.Properties{disabledReason: reasonOf(disabled)}
	}
	last := len(record.ID) - 1
	return &functionapi.Version{
		Name: record.ID[last], Namespace: record.ID[:last], ObjectID: record.UID, Location: "function:" + record.UID,
		Version: strconv.Itoa(number),
		Image: functionapi.Image{
			ManifestDigest: v.Digest, Descriptor: functionapi.Descriptor{Artifact: d.Artifact, Runtime: d.Runtime}, Source: d.Artifact.IsSource(),
		},
		Signature: d.Signature, SecretBindings: d.SecretBindings,
		CreatedAt: v.Created.Format(time.RFC3339), CreatedAtMillis: v.Created.UnixMilli(),
		Metadata: metadata, Disabled: disabled != nil,
	}, nil
}

// IsNotFound reports whether an error means that a function or a version does not exist.
func IsNotFound(err error) bool {
	var known *protocol.Error
	return errors.As(err, &known) && known.Kind == protocol.FunctionNotFound
}
