package version_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tiltyard/shared/arrow/arrowipc"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/service/data"
	"tiltyard/shared/service/servicetest"
	"tiltyard/shared/service/version"
	"tiltyard/shared/storage/objectstore"
)

// as is a context of a request by somebody.
func as(t *testing.T, subject string) context.Context {
	return auth.NewContext(t.Context(), &auth.Principal{Subject: subject, Issuer: "iss"})
}

func deleteRow(ctx context.Context, t *testing.T, house *servicetest.House, id string) {
	t.Helper()
	req := &dataapi.DeleteRequest{Common: servicetest.Named("t"), Predicate: "id = " + id}
	if _, err := data.New(house.Tables, arrowipc.Limits{}).Delete(ctx, req); err != nil {
		t.Fatal(err)
	}
}

func listed(t *testing.T, s *version.Service, req *versionapi.ListRequest) *versionapi.ListResponse {
	t.Helper()
	req.Common = servicetest.Named("t")
	found, err := s.List(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Whoever chooses the subjects of an issuer cannot pass for a key of ours.
func TestSubjectsOfAnIssuerAreNoKeysOfOurs(t *testing.T) {
	house, service := open(t)
	deleteRow(as(t, "key:ci"), t, house, "3")
	deleteRow(as(t, "token"), t, house, "2")
	versions := listed(t, service, &versionapi.ListRequest{Details: true}).Versions
	var got []string
	for _, v := range versions[len(versions)-2:] {
		got = append(got, v.Details.Authors...)
	}
	if want := []string{"iss#key:ci", "iss#token"}; !slices.Equal(got, want) {
		t.Errorf("got the authors %q, want %q", got, want)
	}
}

func TestVersionsTellWhatMadeThemAndForWhom(t *testing.T) {
	house, service := open(t)
	deleteRow(as(t, "ada"), t, house, "2")
	deleteRow(auth.NewContext(t.Context(), &auth.Principal{Subject: "key:ci"}), t, house, "3")
	deleteRow(as(t, "line\nbreak"), t, house, "1")
	got := listed(t, service, &versionapi.ListRequest{Details: true})
	want := []versionapi.Details{
		{Operation: "Overwrite", NumRows: 1, NumFragments: 1},
		{Operation: "Append", NumRows: 2, NumFragments: 2},
		{Operation: "Append", NumRows: 3, NumFragments: 3},
		{Operation: "Delete", Authors: []string{"ada"}, NumRows: 2, NumFragments: 2},
		{Operation: "Delete", Authors: []string{"key:ci"}, NumRows: 1, NumFragments: 1},
		{Operation: "Delete"}, // no name of a person
	}
	if len(got.Versions) != len(want) {
		t.Fatalf("got %d versions, want %d", len(got.Versions), len(want))
	}
	for i, v := range got.Versions {
		d := v.Details
		if d == nil {
			t.Fatalf("version %d has no details", v.Version)
		}
		if d.Operation != want[i].Operation || !slices.Equal(d.Authors, want[i].Authors) || d.NumRows != want[i].NumRows || d.NumFragments != want[i].NumFragments {
			t.Errorf("version %d: got %+v, want %+v", v.Version, d, want[i])
		}
		if d.TransactionID == "" || (d.NumBytes == 0) != (d.NumFragments == 0) {
			t.Errorf("version %d has the transaction %q and %d bytes", v.Version, d.TransactionID, d.NumBytes)
		}
	}
	for _, v := range listed(t, service, &versionapi.ListRequest{}).Versions {
		if v.Details != nil {
			t.Errorf("version %d has details that nobody asked for", v.Version)
		}
	}
}

func TestPagesWithDetailsAreBounded(t *testing.T) {
	house, service := open(t)
	for range versionapi.MaxDetailed {
		house.Insert(t, "t", `[{"id":4}]`)
	}
	for _, limit := range []*int64{nil, number(1000)} {
		got := listed(t, service, &versionapi.ListRequest{Details: true, Page: protocol.Page{Limit: limit}})
		if len(got.Versions) != versionapi.MaxDetailed || got.PageToken == "" {
			t.Errorf("got %d versions and the token %q, want %d and a token", len(got.Versions), got.PageToken, versionapi.MaxDetailed)
		}
	}
}

func TestListMarksAVersionThatCannotBeRead(t *testing.T) {
	house, service := open(t)
	found := listed(t, service, &versionapi.ListRequest{})
	key := strings.TrimPrefix(found.Versions[1].ManifestPath, "test/")
	for _, text := range []string{"no manifest", ""} {
		if _, err := house.Objects.Put(t.Context(), key, []byte(text), objectstore.Condition{}); err != nil {
			t.Fatal(err)
		}
		got := listed(t, service, &versionapi.ListRequest{Details: true})
		for i, v := range got.Versions {
			if v.Details == nil || (v.Details.Unreadable != "") != (i == 1) {
				t.Errorf("version %d has the details %+v", v.Version, v.Details)
			}
		}
	}
}
