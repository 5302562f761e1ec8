package stage

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"tiltyard/shared/lance"
	"tiltyard/shared/lance/datafile"
	"tiltyard/shared/lance/dataset/fragment"
	"tiltyard/shared/lance/internal/legacyfile"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/storage/objectstore"
)

// A Format describes how new data files of a table are written.
type Format struct {
	Version lance.Version
	Bases   []pb.BasePath // base paths that external blobs may use
	AnyURI  bool          // external blobs may lie anywhere; see dataset.Rows.Trusted
	Legacy  legacyfile.Options
}

// Beside returns the format for an additional file of a fragment.
func (format Format) Beside(ctx context.Context, f *fragment.Fragment) (Format, error) {
	if format.Version != lance.Legacy {
		return format, nil
	}
	batches, err := f.LegacyBatches(ctx)
	if batches != nil {
		format.Legacy.Batches = batches
	}
	return format, err
}

// maxSidePuts bounds the small blob side files of a data file that are uploading. Each is in
// memory.
const maxSidePuts = 4

// A sideFile holds blobs outside of their data file.
type sideFile struct {
	io.Writer
	close func() error
}

// Close ends the file. A small file is then uploading.
func (f sideFile) Close() error { return f.close() }

// blobPlaces returns the destinations of a new data file's blobs. f tracks unclosed side files to
// abort them with itself.
func (f *File) blobPlaces(ctx context.Context, p Place, format Format) datafile.BlobPlaces {
	return datafile.BlobPlaces{
		SideFile: func(id uint32) (io.WriteCloser, error) {
			u := p.newUpload(datafile.SideFileKey(f.upload.key, id))
			f.sides = append(f.sides, u)
			return sideFile{u.writer(ctx), func() error {
				f.sides = slices.DeleteFunc(f.sides, func(side *upload) bool { return side == u })
				return u.finish(ctx, &f.sidePuts)
			}}, nil
		},
		External: format.external,
	}
}

// external returns the base path that contains a URI and the path below it. Other URIs are allowed
// only for trusted rows, as in the native writer.
func (format Format) external(uri string) (uint32, string, error) {
	best, path := uint32(0), ""
	for _, base := range format.Bases {
		rest, below := strings.CutPrefix(uri, strings.TrimSuffix(base.Path, "/")+"/")
		if below && rest != "" && (path == "" || len(rest) < len(path)) {
			best, path = base.ID, rest
		}
	}
	switch {
	case path != "":
		return best, path, nil
	case !format.AnyURI:
		return 0, "", fmt.Errorf("%w: blob at %s, which lies below no base path of the table", operation.ErrInvalid, objectstore.URI(uri))
	}
	return 0, uri, nil
}
