package table

import (
	"context"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/tables/vending"
)

// credentials returns storage options with credentials for the location of a table, if the caller
// may read its rows, and nil otherwise. The credentials permit writes only if the caller may change
// the table in every way that they would permit. wanted is the request's field vend_credentials. If
// it is missing, Lance clients get credentials, as they expect; LanceDB clients get none, because
// they read through the service.
func (s *Service) credentials(ctx context.Context, from protocol.Common, wanted *bool, location string) (map[string]string, error) {
	asked := wanted != nil
	if s.tables.Vendor == nil || asked && !*wanted || !asked && from.Dialect == protocol.DialectLanceDB {
		return nil, nil
	}
	reads, writes := auth.DataAccess(ctx, from.ID)
	if !reads {
		return nil, nil
	}
	options, err := s.tables.Vendor.Vend(ctx, vending.Request{
		Table: from.ID, Location: location, Write: writes, Holder: auth.FromContext(ctx).String(),
	})
	if err == nil {
		return options, nil
	}
	if !asked {
		return nil, nil
	}
	return nil, &protocol.Error{
		Code: protocol.ServiceUnavailable, Message: "the credentials of the table are not available at present",
		Detail: "retry, or set vend_credentials to false to do without them", Err: err,
	}
}
