package dataset

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/objectstore"
)

// A fileFormat is how new data files of a table are written.
type fileFormat struct {
	version lance.Version
	bases   []pb.BasePath // where blobs can be that are outside of the table
	anyURI  bool          // blobs can be anywhere; see Rows.Trusted
	batches []int64       // of legacy files: the rows of each; nil is as the writer likes
}

// fileFormat returns how rows are written to the table.
func (d *Dataset) fileFormat(rows Rows) (fileFormat, error) {
	version, err := d.manifest.FileVersion()
	return fileFormat{version: version, bases: d.manifest.BasePaths, anyURI: rows.Trusted}, err
}

// maxSidePuts is how many small side files of a data file are on their way at a time,
// each of which is held in memory.
const maxSidePuts = 4

// A sideFile holds blobs beside a data file.
type sideFile struct {
	*upload
	of *stagedFile
}

// Close implements io.Closer. A small file is then on its way.
func (f sideFile) Close() error {
	f.of.sides = slices.DeleteFunc(f.of.sides, func(u *upload) bool { return u == f.upload })
	return f.finish(&f.of.sidePuts)
}

// blobPlaces returns where blobs of a new data file go. Side files that are not closed are
// remembered, so that they can be given up together with it.
func (f *stagedFile) blobPlaces(ctx context.Context, t *Table, format fileFormat) datafile.BlobPlaces {
	return datafile.BlobPlaces{
		SideFile: func(id uint32) (io.WriteCloser, error) {
			u := t.newUpload(ctx, datafile.SideFileKey(f.upload.key, id))
			f.sides = append(f.sides, u)
			return sideFile{u, f}, nil
		},
		External: format.external,
	}
}

// external returns the base path that a URI is below, with what comes after it. Other URIs
// are for those who know that they may be read: the native writer refuses them, too.
func (format fileFormat) external(uri string) (uint32, string, error) {
	best, path := uint32(0), ""
	for _, base := range format.bases {
		rest, below := strings.CutPrefix(uri, strings.TrimSuffix(base.Path, "/")+"/")
		if below && rest != "" && (path == "" || len(rest) < len(path)) {
			best, path = base.ID, rest
		}
	}
	switch {
	case path != "":
		return best, path, nil
	case !format.anyURI:
		return 0, "", fmt.Errorf("%w: blob at %s, which is below no base path of the table", operation.ErrInvalid, objectstore.URI(uri))
	}
	return 0, uri, nil
}
