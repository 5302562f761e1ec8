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
	"tiltyard/shared/lance/legacyfile"
	"tiltyard/shared/lance/operation"
	"tiltyard/shared/lance/pb"
	"tiltyard/shared/objectstore"
)

// A Format is the form in which new data files of a table are written.
type Format struct {
	Version lance.Version
	Bases   []pb.BasePath // where blobs can be that are outside of the table
	AnyURI  bool          // blobs can be anywhere; see Rows.Trusted
	Legacy  legacyfile.Options
}

// Beside returns the format for a further file of a fragment.
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

// maxSidePuts bounds the small side files of a data file that are on their way at a time. Each is
// held in memory.
const maxSidePuts = 4

// A sideFile holds blobs beside a data file.
type sideFile struct {
	io.Writer
	close func() error
}

// Close implements io.Closer. A small file is then on its way.
func (f sideFile) Close() error { return f.close() }

// blobPlaces returns where the blobs of a new data file go. The file remembers the side files that
// are not closed, so that it can give them up with itself.
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

// external returns the base path that a URI lies below, and the rest of the URI. Other URIs are
// only for tables whose rows are trusted: the native writer refuses them, too.
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
