package version

import (
	"context"
	"strconv"
	"strings"
	"time"

	"tiltyard/shared/catalog"
	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/lance/dataset/listing"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/tables"
)

// List returns the versions of a table, oldest first, or newest first if the request is descending.
// A declared table has no versions.
func (s *Service) List(ctx context.Context, req *versionapi.ListRequest) (*versionapi.ListResponse, error) {
	opts := listing.Request{Descending: req.Descending, Limit: lists.NoLimit}
	if limit, bounded := req.Bound(); bounded {
		opts.Limit = int(min(limit, 1<<31-1))
	}
	// Details read a manifest per version, so these pages are smaller.
	if req.Details && (opts.Limit == lists.NoLimit || opts.Limit > versionapi.MaxDetailed) {
		opts.Limit = versionapi.MaxDetailed
	}
	if req.PageToken != "" {
		after, err := strconv.ParseUint(req.PageToken, 10, 63)
		if err != nil {
			return nil, protocol.Errorf(protocol.InvalidInput, "page_token is not from this list; send back the page_token of the previous page")
		}
		opts.After = &after
	}
	return tables.Inspect(ctx, s.tables.Open(req.ID, req.Branch), func(ctx context.Context, t tables.Table) (*versionapi.ListResponse, error) {
		found, err := listing.Versions(ctx, t.Data(), opts)
		if err != nil {
			return nil, err
		}
		answer := &versionapi.ListResponse{PageToken: found.Next}
		record := t.Found.Table
		place := record.Location.Path()
		keys := make([]string, len(found.Versions))
		for i, v := range found.Versions {
			answer.Versions = append(answer.Versions, entryAt(place, record, v))
			keys[i] = v.Key
		}
		if req.Details {
			if err := addDetails(ctx, record.ID, t.Table, protocol.BranchName(req.Branch), answer.Versions); err != nil {
				return nil, err
			}
		}
		return answer, addMetadata(ctx, record, keys, answer.Versions)
	})
}

// entry describes a version in the form of the protocol. Clients open the manifest themselves, so
// its path is relative to the bucket or file system instead of the root of this service.
func entry(t *catalog.Table, v listing.Version) versionapi.Version {
	return entryAt(t.Location.Path(), t, v)
}

// entryAt returns the entry of a version. place is the path of the table in its bucket or file
// system.
func entryAt(place string, t *catalog.Table, v listing.Version) versionapi.Version {
	return versionapi.Version{
		Version:         int64(v.Number),
		ManifestPath:    place + strings.TrimPrefix(v.Key, t.Location.Prefix),
		ManifestSize:    v.Size,
		ETag:            v.ETag,
		TimestampMillis: v.Modified.UnixMilli(),
		Timestamp:       v.Modified.UTC().Truncate(time.Millisecond),
	}
}
