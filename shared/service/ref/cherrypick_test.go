package ref_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/service/ref"
	"tiltyard/shared/service/schema"
	"tiltyard/shared/service/servicetest"
)

func cherryPick(t *testing.T, s *ref.Service, dryRun bool) *refapi.CherryPickResponse {
	t.Helper()
	got, err := s.CherryPick(t.Context(), &refapi.CherryPickRequest{Common: servicetest.Named("t"), FromBranch: "dev", DryRun: dryRun})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// withBranch makes the branch dev, with a column more.
func withBranch(t *testing.T, house *servicetest.House, s *ref.Service) {
	t.Helper()
	if _, err := s.CreateBranch(t.Context(), &refapi.CreateBranchRequest{Common: servicetest.Named("t"), Name: "dev"}); err != nil {
		t.Fatal(err)
	}
	add := &schemaapi.AddColumnsRequest{
		Common: servicetest.Named("t"), Branch: "dev", NewColumns: []schemaapi.NewColumn{{Name: "twice", Expression: "id * 2"}},
	}
	if _, err := schema.New(house.Tables, arrowipc.Limits{}).Add(t.Context(), add); err != nil {
		t.Fatal(err)
	}
}

func TestCherryPickTakesABranchOnce(t *testing.T) {
	house, service := open(t)
	withBranch(t, house, service)
	if got := cherryPick(t, service, true); got.Status != refapi.CherryPickReady || got.HTTPStatus() != 200 || !slices.Equal(got.Preview.PromotedColumns, []string{"twice"}) || got.MainVersionAfter != nil {
		t.Errorf("dry run: got %+v", got)
	}
	if rows := house.Rows(t, "t"); strings.Contains(rows, "twice") {
		t.Errorf("the dry run has changed the table: %s", rows)
	}
	got := cherryPick(t, service, false)
	if got.Status != refapi.CherryPickDone || got.MainVersionAfter == nil || *got.MainVersionAfter != 3 || got.TransactionID == "" {
		t.Errorf("got %+v, want that version 3 has the column", got)
	}
	if got, want := house.Rows(t, "t"), "{\"id\":1,\"name\":null,\"twice\":2}\n{\"id\":2,\"name\":null,\"twice\":4}\n"; got != want {
		t.Errorf("got rows %s, want %s", got, want)
	}
	again := cherryPick(t, service, false)
	if again.HTTPStatus() != 409 || len(again.Diff.Errors) != 1 || again.Diff.Errors[0].Code != "baseMoved" || len(again.Preview.PromotedColumns) > 0 {
		t.Errorf("got %+v, want that the table has gone on", again)
	}
}

func TestDiffBranchHasAllFields(t *testing.T) {
	house, service := open(t)
	withBranch(t, house, service)
	diff, err := service.DiffBranch(t.Context(), &refapi.DiffBranchesRequest{Common: servicetest.Named("t"), FromBranch: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(diff)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"fromBranch":"dev","parentVersion":2,"mainVersion":2,"branchVersion":3,"baseMoved":false,"rowCountMain":2,"rowCountBranch":2,` +
		`"rowSummary":{"unchanged":2,"newOnBase":0,"newOnBranch":0,"staleRecompute":0,"inputsChanged":0,"deltaAvailable":true},` +
		`"addedColumns":[{"name":"twice","dataType":"int64","nullable":true}],"removedColumns":[],"changedColumns":[],` +
		`"addedIndexes":[],"removedIndexes":[],"errors":[]}`
	if string(text) != want {
		t.Errorf("got\n%s, want\n%s", text, want)
	}
	_, err = service.DiffBranch(t.Context(), &refapi.DiffBranchesRequest{Common: servicetest.Named("t"), FromBranch: "none"})
	servicetest.WantCode(t, "a branch that is not", err, protocol.TableBranchNotFound)
	_, err = service.CherryPick(t.Context(), &refapi.CherryPickRequest{Common: servicetest.Named("t"), FromBranch: "none"})
	servicetest.WantCode(t, "a branch that is not", err, protocol.TableBranchNotFound)
	for _, name := range []string{"", "main"} {
		servicetest.WantCode(t, "branch "+name, (&refapi.CherryPickRequest{FromBranch: name}).Validate(), protocol.InvalidInput)
	}
}
