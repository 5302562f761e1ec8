package index_test

import (
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/service/index"
	"tiltyard/shared/service/servicetest"
)

func TestListOfATableWithoutIndicesIsEmpty(t *testing.T) {
	house := servicetest.Open(t)
	house.Create(t, "t", `[{"id":1}]`)
	service := index.New(house.Tables)
	listed, err := service.List(t.Context(), &indexapi.ListRequest{Common: servicetest.Named("t")})
	if err != nil {
		t.Fatal(err)
	}
	if len(listed.Indexes) != 0 || listed.PageToken != "" {
		t.Errorf("got %+v, want no indices", listed)
	}
	version := int64(7)
	_, err = service.List(t.Context(), &indexapi.ListRequest{Common: servicetest.Named("t"), Version: &version})
	servicetest.WantCode(t, "no version", err, protocol.TableVersionNotFound)
	_, err = service.List(t.Context(), &indexapi.ListRequest{Common: servicetest.Named("no")})
	servicetest.WantCode(t, "no table", err, protocol.TableNotFound)
}

func TestServiceDoesNotFindAnUnknownIndex(t *testing.T) {
	house := servicetest.Open(t)
	house.Create(t, "t", `[{"id":1}]`)
	service := index.New(house.Tables)
	_, err := service.Drop(t.Context(), &indexapi.DropRequest{Common: servicetest.Named("t"), IndexName: "nope"})
	servicetest.WantCode(t, "drop", err, protocol.TableIndexNotFound)
	_, err = service.Stats(t.Context(), &indexapi.DescribeStatsRequest{Common: servicetest.Named("t"), IndexName: "nope"})
	servicetest.WantCode(t, "stats", err, protocol.TableIndexNotFound)
	_, err = service.Prewarm(t.Context(), &indexapi.PrewarmRequest{Common: servicetest.Named("t"), IndexName: "nope"})
	servicetest.WantCode(t, "prewarm", err, protocol.TableIndexNotFound)
	if version := house.Insert(t, "t", `[{"id":2}]`); version != 2 {
		t.Errorf("the next version is %d, want 2: a refused drop makes none", version)
	}
}
