package ref_test

import (
	"maps"
	"slices"
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/service/ref"
	"tiltyard/shared/service/servicetest"
)

// open returns the service over a table t of two versions.
func open(t *testing.T) (*servicetest.House, *ref.Service) {
	house := servicetest.Open(t)
	house.Create(t, "t", `[{"id":1}]`)
	house.Insert(t, "t", `[{"id":2}]`)
	return house, ref.New(house.Tables)
}

func number(n int64) *int64 { return &n }

func tag(name string, version int64) *refapi.SetTagRequest {
	return &refapi.SetTagRequest{Common: servicetest.Named("t"), Tag: name, Version: number(version)}
}

// versionOf asks for the version that a tag names.
func versionOf(t *testing.T, s *ref.Service, name string) (int64, error) {
	got, err := s.TagVersion(t.Context(), &refapi.GetTagVersionRequest{Common: servicetest.Named("t"), Tag: name})
	if err != nil {
		return 0, err
	}
	return got.Version, nil
}

func TestTagNamesAVersionUntilItIsDeleted(t *testing.T) {
	_, service := open(t)
	if _, err := service.CreateTag(t.Context(), tag("v", 1)); err != nil {
		t.Fatal(err)
	}
	if got, err := versionOf(t, service, "v"); err != nil || got != 1 {
		t.Errorf("got version %d, %v; want 1", got, err)
	}
	if _, err := service.UpdateTag(t.Context(), tag("v", 2)); err != nil {
		t.Fatal(err)
	}
	if got, err := versionOf(t, service, "v"); err != nil || got != 2 {
		t.Errorf("after the update: got version %d, %v; want 2", got, err)
	}
	if _, err := service.DeleteTag(t.Context(), &refapi.DeleteTagRequest{Common: servicetest.Named("t"), Tag: "v"}); err != nil {
		t.Fatal(err)
	}
	_, err := versionOf(t, service, "v")
	servicetest.WantCode(t, "deleted tag", err, protocol.TableTagNotFound)
}

func TestTagsThatCannotBeSetChangeNothing(t *testing.T) {
	_, service := open(t)
	if _, err := service.CreateTag(t.Context(), tag("v", 1)); err != nil {
		t.Fatal(err)
	}
	_, err := service.CreateTag(t.Context(), tag("v", 2))
	servicetest.WantCode(t, "a tag that is there", err, protocol.TableTagAlreadyExists)
	_, err = service.CreateTag(t.Context(), tag("w", 9))
	servicetest.WantCode(t, "a version that is not", err, protocol.TableVersionNotFound)
	_, err = service.UpdateTag(t.Context(), tag("w", 1))
	servicetest.WantCode(t, "a tag that is not", err, protocol.TableTagNotFound)
	listed, err := service.ListTags(t.Context(), &refapi.ListTagsRequest{Common: servicetest.Named("t")})
	if err != nil {
		t.Fatal(err)
	}
	if len(listed.Tags) != 1 || listed.Tags["v"].Version != 1 {
		t.Errorf("got tags %v, want v at version 1", listed.Tags)
	}
}

func TestTagsAreListedInPages(t *testing.T) {
	_, service := open(t)
	for _, name := range []string{"b", "c", "a"} {
		if _, err := service.CreateTag(t.Context(), tag(name, 1)); err != nil {
			t.Fatal(err)
		}
	}
	var pages [][]string
	for token := ""; ; {
		page, err := service.ListTags(t.Context(), &refapi.ListTagsRequest{
			Common: servicetest.Named("t"), Page: protocol.Page{Limit: number(2), PageToken: token},
		})
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, slices.Sorted(maps.Keys(page.Tags)))
		if token = page.PageToken; token == "" {
			break
		}
	}
	if len(pages) != 2 || !slices.Equal(pages[0], []string{"a", "b"}) || !slices.Equal(pages[1], []string{"c"}) {
		t.Errorf("got pages %v, want [a b] and [c]", pages)
	}
}

func TestBranchBeginsAtItsVersionAndGoesWhenDeleted(t *testing.T) {
	_, service := open(t)
	create := &refapi.CreateBranchRequest{Common: servicetest.Named("t"), Name: "dev", FromVersion: number(1)}
	if _, err := service.CreateBranch(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	_, err := service.CreateBranch(t.Context(), create)
	servicetest.WantCode(t, "a branch that is there", err, protocol.TableBranchAlreadyExists)
	list := func() map[string]refapi.BranchContents {
		listed, err := service.ListBranches(t.Context(), &refapi.ListBranchesRequest{Common: servicetest.Named("t")})
		if err != nil {
			t.Fatal(err)
		}
		return listed.Branches
	}
	if got := list(); len(got) != 1 || got["dev"].ParentVersion != 1 {
		t.Errorf("got branches %v, want dev from version 1", got)
	}
	remove := &refapi.DeleteBranchRequest{Common: servicetest.Named("t"), Name: "dev"}
	if _, err := service.DeleteBranch(t.Context(), remove); err != nil {
		t.Fatal(err)
	}
	if got := list(); len(got) != 0 {
		t.Errorf("got branches %v, want none", got)
	}
	_, err = service.DeleteBranch(t.Context(), remove)
	servicetest.WantCode(t, "a branch that is gone", err, protocol.TableBranchNotFound)
}

func TestRefsOfNoTableAreNotFound(t *testing.T) {
	_, service := open(t)
	for _, limit := range []*int64{nil, number(0)} {
		_, err := service.ListTags(t.Context(), &refapi.ListTagsRequest{Common: servicetest.Named("no"), Page: protocol.Page{Limit: limit}})
		servicetest.WantCode(t, "tags", err, protocol.TableNotFound)
	}
}
