package namespace

import (
	"context"

	"tiltyard/shared/catalog/lists"
	"tiltyard/shared/protocol/namespaceapi"
)

// ListDropped returns the dropped objects inside a namespace that can be restored. The namespace
// itself may no longer exist.
func (s *Service) ListDropped(ctx context.Context, req *namespaceapi.ListDroppedRequest) (*namespaceapi.ListDroppedResponse, error) {
	limit := lists.NoLimit
	if most, bounded := req.Bound(); bounded {
		limit = int(min(most, 1<<31-1))
	}
	found, next, err := s.names.Drops.List(ctx, req.ID, req.PageToken, limit)
	if err != nil {
		return nil, err
	}
	var sizes []*int64
	if req.Sizes {
		if sizes, err = s.names.Drops.Sizes(ctx, found); err != nil {
			return nil, err
		}
	}
	answer := &namespaceapi.ListDroppedResponse{PageToken: next}
	for i, one := range found {
		answer.Dropped = append(answer.Dropped, namespaceapi.DroppedObject{
			DropID: one.Name, Kind: one.Kind, ID: one.ID, DroppedBy: one.By, Location: one.Location, WithDropID: one.With,
			DroppedAtMillis: one.At.UnixMilli(), RestorableUntilMillis: one.Until.UnixMilli(),
		})
		if sizes != nil {
			answer.Dropped[i].Bytes = sizes[i]
		}
	}
	return answer, nil
}
