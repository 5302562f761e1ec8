package version_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/service/servicetest"
	"tiltyard/shared/service/version"
)

// open returns the service over a table t of three versions, the last of which has three rows.
func open(t *testing.T) (*servicetest.House, *version.Service) {
	house := servicetest.Open(t)
	house.Create(t, "t", `[{"id":1}]`)
	house.Insert(t, "t", `[{"id":2}]`)
	house.Insert(t, "t", `[{"id":3}]`)
	return house, version.New(house.Tables)
}

func number(n int64) *int64 { return &n }

// numbers lists versions.
func numbers(t *testing.T, s *version.Service, req *versionapi.ListRequest) (found []int64, next string) {
	t.Helper()
	req.Common = servicetest.Named("t")
	listed, err := s.List(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range listed.Versions {
		found = append(found, v.Version)
	}
	return found, listed.PageToken
}

func TestVersionsAreListedInEitherOrderAndInPages(t *testing.T) {
	_, service := open(t)
	if got, _ := numbers(t, service, &versionapi.ListRequest{}); !slices.Equal(got, []int64{1, 2, 3}) {
		t.Errorf("got %v, want 1 to 3", got)
	}
	got, next := numbers(t, service, &versionapi.ListRequest{Descending: true, Page: protocol.Page{Limit: number(2)}})
	if !slices.Equal(got, []int64{3, 2}) || next == "" {
		t.Errorf("got %v and token %q, want 3, 2 and a token", got, next)
	}
	got, next = numbers(t, service, &versionapi.ListRequest{Descending: true, Page: protocol.Page{Limit: number(2), PageToken: next}})
	if !slices.Equal(got, []int64{1}) || next != "" {
		t.Errorf("got %v and token %q, want 1 and the end", got, next)
	}
}

func TestDescribeReturnsAVersionWithItsManifest(t *testing.T) {
	_, service := open(t)
	for _, asked := range []*int64{number(2), nil} {
		got, err := service.Describe(t.Context(), &versionapi.DescribeRequest{Common: servicetest.Named("t"), Version: asked})
		if err != nil {
			t.Fatal(err)
		}
		want := int64(3)
		if asked != nil {
			want = *asked
		}
		if v := got.Version; v.Version != want || v.ManifestPath == "" || v.ManifestSize == 0 || v.TimestampMillis == 0 {
			t.Errorf("got %+v, want version %d with its manifest", v, want)
		}
	}
	_, err := service.Describe(t.Context(), &versionapi.DescribeRequest{Common: servicetest.Named("t"), Version: number(9)})
	servicetest.WantCode(t, "no version", err, protocol.TableVersionNotFound)
}

func TestRestoreMakesANewVersionOfAnOldOne(t *testing.T) {
	house, service := open(t)
	if _, err := service.Restore(t.Context(), &versionapi.RestoreRequest{Common: servicetest.Named("t"), Version: number(1)}); err != nil {
		t.Fatal(err)
	}
	if got, want := house.Rows(t, "t"), "{\"id\":1,\"name\":null}\n"; got != want {
		t.Errorf("got rows\n%swant\n%s", got, want)
	}
	if got, _ := numbers(t, service, &versionapi.ListRequest{}); !slices.Equal(got, []int64{1, 2, 3, 4}) {
		t.Errorf("got versions %v, want 1 to 4", got)
	}
	_, err := service.Restore(t.Context(), &versionapi.RestoreRequest{Common: servicetest.Named("t"), Version: number(9)})
	servicetest.WantCode(t, "no version", err, protocol.TableVersionNotFound)
}

func TestVersionsAreComparedByRows(t *testing.T) {
	house, service := open(t)
	compare := func(from int64, to, limit *int64) *versionapi.CompareResponse {
		got, err := service.Compare(t.Context(), &versionapi.CompareRequest{Common: servicetest.Named("t"), FromVersion: &from, ToVersion: to, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	rows := func(ids ...uint64) versionapi.ComparedRows {
		return versionapi.ComparedRows{Count: int64(len(ids)), RowIDs: append(protocol.List[uint64]{}, ids...)}
	}
	const second, third = 1 << 32, 2 << 32 // the addresses of the rows that versions 2 and 3 have added
	want := &versionapi.CompareResponse{FromVersion: 1, ToVersion: 3, Removed: rows(), Added: rows(second, third), Changed: rows()}
	if diff := cmp.Diff(want, compare(1, nil, nil)); diff != "" {
		t.Errorf("to the newest (-want +got):\n%s", diff)
	}
	want = &versionapi.CompareResponse{FromVersion: 3, ToVersion: 1, Removed: rows(second, third), Added: rows(), Changed: rows()}
	if diff := cmp.Diff(want, compare(3, number(1), nil)); diff != "" {
		t.Errorf("backwards (-want +got):\n%s", diff)
	}
	if got := compare(1, number(3), number(1)).Added; got.Count != 2 || !slices.Equal(got.RowIDs, []uint64{second}) {
		t.Errorf("with a limit of 1, added are %+v, want one of two", got)
	}
	house.Insert(t, "t", `[{"id":4}]`)
	if got := compare(3, nil, number(0)).Added; got.Count != 1 || len(got.RowIDs) != 0 {
		t.Errorf("with a limit of 0, added are %+v, want none of one", got)
	}
	for _, to := range []*int64{number(9), number(0)} {
		_, err := service.Compare(t.Context(), &versionapi.CompareRequest{Common: servicetest.Named("t"), FromVersion: number(1), ToVersion: to})
		servicetest.WantCode(t, "no version", err, protocol.TableVersionNotFound)
	}
}
