package table_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/engine/rowerror"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/service/servicetest"
	"tiltyard/shared/service/table"
)

func TestListErrors(t *testing.T) {
	house := servicetest.Open(t)
	house.Create(t, "t", `[{"id":1}]`)
	service := table.NewErrors(house.Tables)
	found, err := house.Tables.Names.Table(t.Context(), []string{"t"})
	if err != nil {
		t.Fatal(err)
	}
	const newer, older = "0000000000000000000000000000000a", "0000000000000000000000000000000b"
	at := time.Now().Truncate(time.Millisecond)
	put := func(job string, fragment uint64, rows int, age time.Duration) {
		u := &rowerror.Unit{Job: job, Fragment: fragment, Column: "c", Function: "f", FunctionVersion: "1", TableVersion: 2, At: at.Add(-age)}
		for i := range rows {
			u.Add(rowerror.Row{Offset: uint32(i), Type: "T", Message: "m"})
		}
		if err := rowerror.Of(house.Tables.At(found).Data()).Put(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	put(older, 0, 2, 0)
	put(older, 1, 2, 2*rowerror.Retention)
	put(newer, 7, rowerror.MaxRows+5, 0)
	ctx := auth.NewContext(t.Context(), &auth.Principal{Subject: "test", Scopes: []string{auth.ScopeRead}})
	list := func(change func(*tableapi.ListErrorsRequest)) *tableapi.ListErrorsResponse {
		t.Helper()
		req := &tableapi.ListErrorsRequest{Common: servicetest.Named("t")}
		change(req)
		answer, err := service.List(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	all := list(func(*tableapi.ListErrorsRequest) {})
	if len(all.Records) != rowerror.MaxRows+2 || all.Truncated || all.Records[0].JobID != newer || all.Records[rowerror.MaxRows].JobID != older {
		t.Errorf("got %d records, truncated %v", len(all.Records), all.Truncated)
	}
	want := protocol.List[tableapi.ErrorFragment]{{JobID: newer, FragmentID: 7, RowsSkipped: rowerror.MaxRows + 5, RowsRecorded: rowerror.MaxRows}}
	if diff := cmp.Diff(want, all.Fragments); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	one := list(func(r *tableapi.ListErrorsRequest) {
		limit := int64(1)
		r.JobID, r.Column, r.Limit = older, "c", &limit
	})
	record := tableapi.RowError{
		JobID: older, Column: "c", Function: "f", FunctionVersion: "1", TableVersion: 2, ErrorType: "T", ErrorMessage: "m", CreatedAtMillis: at.UnixMilli(),
	}
	if diff := cmp.Diff(&tableapi.ListErrorsResponse{Records: protocol.List[tableapi.RowError]{record}, Truncated: true}, one); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, change := range []func(*tableapi.ListErrorsRequest){
		func(r *tableapi.ListErrorsRequest) { r.JobID = "../../other" },
		func(r *tableapi.ListErrorsRequest) { r.Column = "d" },
	} {
		if none := list(change); len(none.Records) > 0 || none.Truncated {
			t.Errorf("got %+v, want nothing", none)
		}
	}
	_, err = service.List(t.Context(), &tableapi.ListErrorsRequest{Common: servicetest.Named("t")})
	servicetest.WantCode(t, "nobody who may read", err, protocol.PermissionDenied)
	_, err = service.List(ctx, &tableapi.ListErrorsRequest{Common: servicetest.Named("nope")})
	servicetest.WantCode(t, "no table", err, protocol.TableNotFound)
	_, err = service.List(ctx, &tableapi.ListErrorsRequest{Common: servicetest.Named("t"), Branch: "nope"})
	servicetest.WantCode(t, "no branch", err, protocol.TableBranchNotFound)
}
