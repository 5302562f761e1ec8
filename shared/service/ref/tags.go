package ref

import (
	"context"

	"tiltyard/shared/engine"
	"tiltyard/shared/jobs/transaction"
	"tiltyard/shared/lance/dataset/refs"
	"tiltyard/shared/lance/dataset/tags"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/tables"
)

// ListTags returns the tags of a table, ordered by name.
func (s *Service) ListTags(ctx context.Context, req *refapi.ListTagsRequest) (*refapi.ListTagsResponse, error) {
	answer := &refapi.ListTagsResponse{Dialect: req.Dialect, Tags: map[string]refapi.TagContents{}}
	err := s.list(ctx, req.ID, req.Page, func(ctx context.Context, t *engine.Table, limit int) (string, error) {
		tags, next, err := t.Data().Refs().Tags(ctx, req.PageToken, limit)
		for name, tag := range tags {
			answer.Tags[name] = contents(tag)
		}
		return next, err
	}, &answer.PageToken)
	return answer, err
}

// list stores the token of the next page in next. The function list adds one page to the answer and
// returns that token.
func (s *Service) list(ctx context.Context, id []string, page protocol.Page, list func(ctx context.Context, t *engine.Table, limit int) (next string, err error), next *string) error {
	limit, bounded := page.Bound()
	if bounded && limit == 0 {
		return s.exists(ctx, id)
	}
	var err error
	*next, err = tables.Inspect(ctx, s.tables.Open(id, ""), func(ctx context.Context, t tables.Table) (string, error) {
		return list(ctx, t.Table, int(min(limit, 1<<30)))
	})
	return err
}

// exists returns an error unless the table exists.
func (s *Service) exists(ctx context.Context, id []string) error {
	_, err := s.tables.Names.Table(ctx, id)
	return err
}

func contents(tag refs.Tag) refapi.TagContents {
	return refapi.TagContents{Version: int64(tag.Version), ManifestSize: tag.ManifestBytes, Branch: tag.BranchName()}
}

// TagVersion returns the version to which a tag refers.
func (s *Service) TagVersion(ctx context.Context, req *refapi.GetTagVersionRequest) (*refapi.GetTagVersionResponse, error) {
	return tables.Inspect(ctx, s.tables.Open(req.ID, ""), func(ctx context.Context, t tables.Table) (*refapi.GetTagVersionResponse, error) {
		tag, _, err := t.Data().Refs().Tag(ctx, req.Tag)
		if err != nil {
			return nil, err
		}
		return &refapi.GetTagVersionResponse{Version: int64(tag.Version), Branch: tag.BranchName()}, nil
	})
}

// CreateTag creates a tag.
func (s *Service) CreateTag(ctx context.Context, req *refapi.SetTagRequest) (*refapi.SetTagResponse, error) {
	return s.putTag(ctx, "create-tag", req, func(t *engine.Table) error {
		return tags.Create(ctx, t.Data(), req.Tag, protocol.BranchName(req.Branch), uint64(*req.Version))
	})
}

// UpdateTag moves a tag to another version.
func (s *Service) UpdateTag(ctx context.Context, req *refapi.SetTagRequest) (*refapi.SetTagResponse, error) {
	return s.putTag(ctx, "update-tag", req, func(t *engine.Table) error {
		return tags.Update(ctx, t.Data(), req.Tag, protocol.BranchName(req.Branch), uint64(*req.Version))
	})
}

// putTag writes a tag. It looks up the version while it reads the record of the table. put confirms
// the record right before it writes, because no later step can notice that the table was renamed.
func (s *Service) putTag(ctx context.Context, operation string, req *refapi.SetTagRequest, put func(*engine.Table) error) (*refapi.SetTagResponse, error) {
	_, err := tables.Try(ctx, s.tables.Open(req.ID, ""), func(_ context.Context, t tables.Table) (struct{}, error) {
		return struct{}{}, put(t.ConfirmWith(t.Found.Confirm))
	})
	if err != nil {
		return nil, err
	}
	return &refapi.SetTagResponse{TransactionID: s.changed(ctx, operation, req.ID, map[string]string{"tag": req.Tag})}, nil
}

// DeleteTag removes a tag.
func (s *Service) DeleteTag(ctx context.Context, req *refapi.DeleteTagRequest) (*refapi.SetTagResponse, error) {
	return s.onTag(ctx, "delete-tag", req.ID, req.Tag, func(t *engine.Table) error {
		return tags.Delete(ctx, t.Data(), req.Tag)
	})
}

// onTag runs work on a tag and returns the answer with the id of its transaction.
func (s *Service) onTag(ctx context.Context, operation string, id []string, tag string, work func(*engine.Table) error) (*refapi.SetTagResponse, error) {
	if err := s.onTable(ctx, id, work); err != nil {
		return nil, err
	}
	return &refapi.SetTagResponse{TransactionID: s.changed(ctx, operation, id, map[string]string{"tag": tag})}, nil
}

// changed returns the transaction id of a change.
func (s *Service) changed(ctx context.Context, operation string, id []string, properties map[string]string) string {
	return s.tables.Transactions.IDOfChange(ctx, transaction.Change{Operation: operation, Object: id, Properties: properties})
}

// onTable runs work that writes one object outside of the table's versions. No later step can
// notice that the name refers to another table by then, so onTable reads the table's record right
// before.
func (s *Service) onTable(ctx context.Context, id []string, work func(*engine.Table) error) error {
	t, err := s.tables.Names.Table(ctx, id)
	if err != nil {
		return err
	}
	table := s.tables.At(t)
	return table.Translate(work(table))
}
