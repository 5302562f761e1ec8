package version

import (
	"context"
	"strconv"

	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/protocol"
)

// List tells the versions of a table, newest first when asked to, else oldest first. A
// table that is only declared has none.
func (s *Service) List(ctx context.Context, req *protocol.ListTableVersionsRequest) (*protocol.ListTableVersionsResponse, error) {
	if err := protocol.OnMain(req.Branch); err != nil {
		return nil, err
	}
	opts := engine.VersionList{Descending: req.Descending, Limit: catalog.All}
	if limit, bounded := req.Bound(); bounded {
		opts.Limit = int(limit)
	}
	if req.PageToken != "" {
		after, err := strconv.ParseUint(req.PageToken, 10, 63)
		if err != nil {
			return nil, protocol.Errorf(protocol.InvalidInput, "page_token %q is not one of this list", req.PageToken)
		}
		opts.After = &after
	}
	found, err := catalog.Read(ctx, s.names, req.ID, func(ctx context.Context, t *catalog.Table) (engine.VersionPage, error) {
		return s.rows.Table(t.ID, t.Location, t.Hint).Versions(ctx, opts)
	})
	if err != nil {
		return nil, err
	}
	answer := &protocol.ListTableVersionsResponse{PageToken: found.Next}
	for _, v := range found.Versions {
		answer.Versions = append(answer.Versions, protocol.TableVersion{
			Version: int64(v.Number), ManifestPath: v.Key, ManifestSize: v.Size, ETag: v.ETag, TimestampMillis: v.Modified.UnixMilli(),
		})
	}
	return answer, nil
}
