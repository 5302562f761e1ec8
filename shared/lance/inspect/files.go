package inspect

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/internal/deletion"
	"tiltyard/shared/lance/internal/legacyfile"
	"tiltyard/shared/lance/pb"
)

// fragments describes fragments and their files, several at the same time.
func (t *table) fragments(ctx context.Context, all []*pb.Fragment, fields []Field) ([]Fragment, error) {
	names := make(map[int32]Field, len(fields))
	for _, f := range fields {
		names[f.ID] = f
	}
	list := make([]Fragment, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(reads)
	for i, f := range all {
		list[i] = Fragment{ID: f.ID, PhysicalRows: f.PhysicalRows, RowIDBytes: len(f.RowIDs), Files: make([]File, len(f.Files))}
		if d := f.DeletionFile; d != nil {
			list[i].DeletedRows, list[i].DeletionFile = d.DeletedRows, deletion.Path(f.ID, d)
		}
		for k := range f.Files {
			group.Go(func() error {
				list[i].Files[k] = t.file(ctx, &f.Files[k], names)
				return ctx.Err()
			})
		}
	}
	return list, group.Wait()
}

// file describes a data file from its own metadata.
func (t *table) file(ctx context.Context, meta *pb.DataFile, names map[int32]Field) File {
	file := File{
		Path: path.Join("data", meta.Path), Base: meta.BaseID, Bytes: meta.SizeBytes,
		Version: fmt.Sprintf("%d.%d", meta.MajorVersion, meta.MinorVersion),
	}
	if meta.BaseID != nil {
		file.Path = meta.Path
		return file
	}
	if version, err := lance.VersionOf(meta.MajorVersion, meta.MinorVersion); err == nil && version == lance.Legacy {
		return t.legacyFile(ctx, meta, file)
	}
	if len(meta.Fields) != len(meta.ColumnIndices) {
		file.Error = fmt.Sprintf("%d fields in %d columns", len(meta.Fields), len(meta.ColumnIndices))
		return file
	}
	opened, err := datafile.Open(ctx, t.Store, t.Prefix+"/data/"+meta.Path, int64(meta.SizeBytes), map[int32]int32{})
	if err != nil {
		file.Error = err.Error()
		return file
	}
	file.Bytes, file.Rows, file.Version = uint64(opened.Size()), opened.NumRows(), opened.Version().String()
	for i := range opened.NumColumns() {
		file.Columns = append(file.Columns, column(opened, i, fieldsOf(meta, i, names)))
	}
	return file
}

// legacyFile adds the contents of a legacy data file's metadata. Such a file has no
// columns: its pages belong to fields of the manifest.
func (t *table) legacyFile(ctx context.Context, meta *pb.DataFile, file File) File {
	opened, err := legacyfile.Open(ctx, t.Store, t.Prefix+"/data/"+meta.Path, int64(meta.SizeBytes))
	if err != nil {
		file.Error = err.Error()
		return file
	}
	file.Bytes, file.Rows = uint64(opened.Size()), opened.NumRows()
	return file
}

// fieldsOf returns the field that is stored in a column. A field that the schema does not
// have gets a description in parentheses.
func fieldsOf(meta *pb.DataFile, column int, names map[int32]Field) Field {
	i := slices.Index(meta.ColumnIndices, int32(column))
	if i < 0 {
		return Field{Path: "(no field)"}
	}
	switch id := meta.Fields[i]; id {
	case -2:
		return Field{Path: "(moved to a later file)"}
	case -3:
		return Field{Path: "(row ids)"}
	case -4:
		return Field{Path: "(versions of last updates)"}
	case -5:
		return Field{Path: "(versions of creation)"}
	default:
		if f, ok := names[id]; ok {
			return f
		}
		return Field{Path: fmt.Sprintf("(dropped field %d)", id)}
	}
}

// column describes a column of a data file. An unreadable one has an Error.
func column(file *datafile.File, index int, field Field) Column {
	c := Column{Index: index, Field: field.Path, Type: field.Type}
	m, err := file.ColumnMetadata(index)
	if err != nil {
		c.Error = err.Error()
		return c
	}
	for i := range m.Pages {
		p := Page{Rows: m.Pages[i].Length, Encoding: pageEncoding(m.Pages[i].Encoding), Buffers: m.Pages[i].BufferSizes}
		c.Rows += p.Rows
		c.Bytes += p.Bytes()
		c.Pages = append(c.Pages, p)
	}
	return c
}

// indexType returns the type of an index from the name of the message with its details,
// such as "/lance.table.BTreeIndexDetails".
func indexType(details *pb.Any) string {
	if details == nil {
		return "unknown"
	}
	name := details.TypeURL[strings.LastIndexAny(details.TypeURL, "./")+1:]
	return strings.TrimSuffix(name, "IndexDetails")
}
