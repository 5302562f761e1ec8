package table

import (
	"context"

	"tiltyard/shared/catalog/dependents"
	"tiltyard/shared/protocol/tableapi"
)

// Drop removes a table: first its name, then its data, unless the table can be restored for a time.
func (s *Service) Drop(ctx context.Context, req *tableapi.DropRequest) (*tableapi.DropResponse, error) {
	gone, err := s.tables.Names.DropTable(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	answer := &tableapi.DropResponse{
		TransactionID: s.changed(ctx, "drop-table", gone.ID, nil),
		ID:            gone.ID, Location: gone.Location.URI, Properties: gone.Properties,
		Warning: dependents.Warning(ctx, gone.Dependents),
	}
	if gone.Dropped != nil {
		answer.DropID, answer.RestorableUntilMillis = gone.Dropped.Name, gone.Dropped.Until.UnixMilli()
	}
	return answer, nil
}
