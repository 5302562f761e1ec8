package table

import (
	"context"

	"tiltyard/shared/auth"
	"tiltyard/shared/protocol"
	"tiltyard/shared/vending"
)

// addCredentials tells what opens the location of a table, to those who may read its rows:
// what writes it, if they may change it in every way that these credentials let them. Who
// asks for nothing gets them, too, as Lance expects it, but for LanceDB's clients, which go
// by the service.
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
			Code: protocol.ServiceUnavailable, Message: "credentials cannot be had at present",
			Detail: "the table is described without them when vend_credentials is false", Err: err,
		}
	}
	answer.StorageOptions = options
	return nil
}
