package table

import (
	"context"

	"tiltyard/shared/auth"
	"tiltyard/shared/protocol"
	"tiltyard/shared/vending"
)

// addCredentials adds credentials for the location of a table, if the caller may read its rows. The
// credentials allow writing only if the caller may change the table in every way that they would
// permit. A request that does not mention credentials gets them too, as Lance clients expect;
// LanceDB's clients get none then, because they read through the service.
func (s *Service) addCredentials(ctx context.Context, req *protocol.DescribeTableRequest, answer *protocol.DescribeTableResponse) error {
	asked := req.VendCredentials != nil
	if s.tables.Vendor == nil || asked && !*req.VendCredentials || !asked && req.Dialect == protocol.DialectLanceDB {
		return nil
	}
	reads, writes := auth.DataAccess(ctx, req.ID)
	if !reads {
		return nil
	}
	options, err := s.tables.Vendor.Vend(ctx, vending.Request{
		Location: answer.Location, Write: writes, Holder: auth.FromContext(ctx).String(),
	})
	if err != nil && asked {
		return &protocol.Error{
			Code: protocol.ServiceUnavailable, Message: "the credentials of the table are not available at present",
			Detail: "retry, or set vend_credentials to false to describe the table without them", Err: err,
		}
	}
	answer.StorageOptions = options
	return nil
}
