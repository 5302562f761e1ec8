package data_test

import (
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/service/servicetest"
)

func TestNoTableHasALog(t *testing.T) {
	house, service := open(t)
	house.Create(t, "t", twoRows)
	on := func(name string) *protocol.LSMRequest { return &protocol.LSMRequest{Common: servicetest.Named(name)} }
	_, err := service.SetLSM(t.Context(), on("t"))
	servicetest.WantCode(t, "set", err, protocol.Unsupported)
	_, err = service.UnsetLSM(t.Context(), on("t"))
	servicetest.WantCode(t, "unset", err, protocol.InvalidInput)
	_, err = service.SetLSM(t.Context(), on("none"))
	servicetest.WantCode(t, "set of no table", err, protocol.TableNotFound)
	_, err = service.UnsetLSM(t.Context(), &protocol.LSMRequest{Common: servicetest.Named("t"), Branch: "none"})
	servicetest.WantCode(t, "unset of no branch", err, protocol.TableBranchNotFound)
}
