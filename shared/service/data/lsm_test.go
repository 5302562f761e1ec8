package data_test

import (
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/service/servicetest"
)

func TestRefuseReportsThatNoTableHasALog(t *testing.T) {
	house, service := open(t)
	house.Create(t, "t", twoRows)
	on := func(name string) *dataapi.LSMRequest { return &dataapi.LSMRequest{Common: servicetest.Named(name)} }
	refused := 0
	for _, op := range operations.All {
		if op.Refused == nil {
			continue
		}
		refused++
		servicetest.WantCode(t, op.Name, service.Refuse(t.Context(), op, on("t")), op.Refused.Code)
		servicetest.WantCode(t, op.Name+" of no table", service.Refuse(t.Context(), op, on("none")), protocol.TableNotFound)
		err := service.Refuse(t.Context(), op, &dataapi.LSMRequest{Common: servicetest.Named("t"), Branch: "none"})
		servicetest.WantCode(t, op.Name+" of no branch", err, protocol.TableBranchNotFound)
	}
	if refused != 4 {
		t.Errorf("%d operations are refused, want 4", refused)
	}
}
