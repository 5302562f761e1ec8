// Package indexbuild builds the indices of a table. It checks an [Index] against a version, and calls the builder of its
// kind in package index/kinds with the rows. Errors are protocol errors.
package indexbuild

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/engine/internal/document"
	"tiltyard/shared/index"
	"tiltyard/shared/index/fulltext"
	"tiltyard/shared/index/kinds"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/lance/dataset/segments"
	"tiltyard/shared/lance/dataset/snapshot"
	"tiltyard/shared/lance/indexmeta"
	"tiltyard/shared/protocol"
)

// An Index is an index to build.
type Index struct {
	Name    string
	Default bool   // the client chose no name; see [segments.NewIndex]
	Column  string // path of the column; for a text index without the items of lists
	Kind    indexmeta.Kind
	Replace bool             // replaces an index of the same name
	Params  any              // of the kind's parameter type; nil: the defaults
	Watch   func(rows int64) // called with the number of further rows read; may be nil
}

// Resolve returns the plan to build the index on a version. It returns an error if the column is
// missing or the parameters do not fit it.
func (n Index) Resolve(d *dataset.Dataset) (segments.NewIndex, error) {
	return n.resolve(d, func(kind *index.Kind, b index.Build) (index.Plan, error) { return kind.Plan(b) })
}

// Divide returns the plan to build the index in parts. Errors are those of Resolve.
func (n Index) Divide(d *dataset.Dataset) (index.Parts, error) {
	_, b, err := n.on(d)
	if err != nil {
		return nil, err
	}
	p, err := kinds.Of(n.Kind).Plan(b)
	return p.Parts, refused(err)
}

// resolve checks the index against a version, and completes the result of plan with its name and
// column.
func (n Index) resolve(d *dataset.Dataset, plan func(*index.Kind, index.Build) (index.Plan, error)) (segments.NewIndex, error) {
	kind, b, err := n.on(d)
	var p index.Plan
	if err == nil {
		p, err = plan(kind, b)
	}
	made := segments.NewIndex{
		Name: n.Name, Default: n.Default, Column: n.Column, Kind: n.Kind, Replace: n.Replace, Version: p.Version, Details: p.Details,
		Build: func(ctx context.Context, out *segments.Files) error { return p.Write(ctx, segment{out}) },
	}
	if measured, ok := p.Parts.(index.Measured); ok {
		made.Measure = func(ctx context.Context, built []segments.Opener) ([]byte, error) {
			var files []index.Files
			for _, open := range built {
				files = append(files, index.Unkept{File: open})
			}
			return measured.Measure(ctx, p.Details, files)
		}
	}
	return made, refused(err)
}

// on checks that the version has a suitable column, and returns the kind and the input of its
// planner.
func (n Index) on(d *dataset.Dataset) (*index.Kind, index.Build, error) {
	b := index.Build{Column: n.Column, Params: n.Params, Watch: n.Watch}
	if err := n.CanBuild(); err != nil {
		return nil, b, err
	}
	if indexmeta.IsSystem(n.Name) {
		return nil, b, protocol.Errorf(protocol.InvalidInput, "the name %.80q of the index is one that Lance keeps for itself; take one that does not begin with __lance_", n.Name)
	}
	kind := kinds.Of(n.Kind)
	read, t, err := n.column(d, kind, &b)
	if err != nil {
		return nil, b, err
	}
	if !kind.Fits(b) {
		return nil, b, &protocol.Error{
			Code: protocol.InvalidInput, Message: fmt.Sprintf("column %q of type %s cannot have an index of type %s", n.Column, t, n.typeName()),
			Detail: n.typeName() + " fits " + kind.Fitting,
		}
	}
	// The newest version of some kinds stores addresses even if the table has stable row ids.
	stores := snapshot.RowID
	if kind.NamesAddresses(kind.Newest()) {
		stores = snapshot.RowAddr
	}
	b.Rows = d.IndexSource(read, stores)
	return kind, b, nil
}

// column finds the column of a build. It returns the path that scans read, and the type of the
// values.
func (n Index) column(d *dataset.Dataset, kind *index.Kind, b *index.Build) (read string, t arrow.DataType, err error) {
	if !kind.Documents {
		b.Field, err = d.Column(n.Column)
		return n.Column, b.Field.Type, err
	}
	b.Texts, err = document.Find(d, n.Column)
	b.Field = b.Texts.Field
	return b.Texts.Read, b.Texts.Leaf(), err
}

// typeName returns the index type in the words of requests.
func (n Index) typeName() string {
	if params, ok := n.Params.(index.Typed); ok {
		return params.IndexType()
	}
	return n.Kind.String()
}

// CanBuild returns an error if the server cannot build indices of the type.
func (n Index) CanBuild() error {
	if kinds.Of(n.Kind).Builds(n.typeName()) {
		return nil
	}
	return &protocol.Error{
		Code: protocol.Unsupported, Message: "the server cannot build indices of this type yet",
		Detail: "it builds " + strings.Join(kinds.Types(), ", ") + "; it lists and keeps the others, which native Lance builds",
	}
}

// CheckTexts returns a protocol error for invalid parameters of a text index.
func CheckTexts(p fulltext.Params) error { return refused(p.Check()) }

// refused turns a refusal of parameters into a protocol error.
func refused(err error) error {
	var misfit *index.Refusal
	if errors.As(err, &misfit) {
		code := protocol.InvalidInput
		if misfit.Unbuilt {
			code = protocol.Unsupported
		}
		return &protocol.Error{Code: code, Message: misfit.Message, Detail: misfit.WayOut}
	}
	var bad *fulltext.Error
	if errors.As(err, &bad) {
		return &protocol.Error{Code: protocol.InvalidInput, Message: bad.Error(), Err: err}
	}
	return err
}

// A segment adapts the files of a new segment to [index.Output].
type segment struct{ files *segments.Files }

// Create opens a new file of the segment.
func (s segment) Create(ctx context.Context, name string, columns *arrow.Schema) (index.FileWriter, error) {
	file, err := s.files.Create(ctx, name, columns)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// NewStaged returns readers of the files of two uncommitted segments, by their ids: one with the
// trained model, and one with the shards.
func NewStaged(d *dataset.Dataset, trained, shards string) index.Staged {
	in := func(folder string) func(ctx context.Context, name string) (*datafile.File, error) {
		return func(ctx context.Context, name string) (*datafile.File, error) {
			return segments.OpenStaged(ctx, d, folder, name)
		}
	}
	return index.Staged{Trained: in(trained), Shards: in(shards)}
}

// Stage writes files of an uncommitted segment, and returns them when they are durable.
func Stage(ctx context.Context, d *dataset.Dataset, id string, write func(ctx context.Context, out index.Output) error) ([]segments.StagedFile, error) {
	return segments.Stage(ctx, d, id, func(ctx context.Context, out *segments.Files) error { return write(ctx, segment{out}) })
}
