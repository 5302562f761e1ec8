package table_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/service/servicetest"
	"tiltyard/shared/service/table"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
)

// open returns the service over a table t of two rows in two versions, and a declared one, d.
func open(t *testing.T) (*servicetest.House, *table.Service) {
	house := servicetest.Open(t)
	service := table.New(house.Tables)
	house.Create(t, "t", `[{"id":1,"name":"a"}]`)
	house.Insert(t, "t", `[{"id":2,"name":"b"}]`)
	declare := &tableapi.DeclareRequest{Common: servicetest.Named("d"), Properties: map[string]string{"k": "v"}}
	if _, err := service.Declare(t.Context(), declare); err != nil {
		t.Fatal(err)
	}
	return house, service
}

const asLines = "{\"id\":1,\"name\":\"a\"}\n{\"id\":2,\"name\":\"b\"}\n"

func number(n int64) *int64 { return &n }

func TestListsLeaveOutDeclaredTablesWhenAsked(t *testing.T) {
	_, service := open(t)
	no := false
	for _, c := range []struct {
		declared *bool
		want     []string
	}{{nil, []string{"d", "t"}}, {&no, []string{"t"}}} {
		listed, err := service.List(t.Context(), &tableapi.ListRequest{IncludeDeclared: c.declared})
		if err != nil {
			t.Fatal(err)
		}
		all, err := service.ListAll(t.Context(), &tableapi.ListAllRequest{IncludeDeclared: c.declared})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(listed.Tables, c.want) || !slices.Equal(all.Tables, c.want) {
			t.Errorf("got %v and of all namespaces %v, want %v", listed.Tables, all.Tables, c.want)
		}
	}
}

func TestListsComeInPages(t *testing.T) {
	_, service := open(t)
	first, err := service.List(t.Context(), &tableapi.ListRequest{Page: protocol.Page{Limit: number(1)}})
	if err != nil {
		t.Fatal(err)
	}
	second, err := service.List(t.Context(), &tableapi.ListRequest{Page: protocol.Page{Limit: number(1), PageToken: first.PageToken}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first.Tables, []string{"d"}) || !slices.Equal(second.Tables, []string{"t"}) || second.PageToken != "" {
		t.Errorf("got pages %+v and %+v, want d and then t", first, second)
	}
}

func TestDescribeTellsWhatIsAsked(t *testing.T) {
	_, service := open(t)
	got, err := service.Describe(t.Context(), &tableapi.DescribeRequest{Common: servicetest.Named("t")})
	if err != nil {
		t.Fatal(err)
	}
	if got.Table != "t" || got.Location == "" || got.Schema != nil || got.Version != nil {
		t.Errorf("got %+v, want only name and location", got)
	}
	got, err = service.Describe(t.Context(), &tableapi.DescribeRequest{Common: servicetest.Named("t"), LoadDetailedMetadata: true, Version: number(1)})
	if err != nil {
		t.Fatal(err)
	}
	if got.Schema == nil || len(got.Schema.Fields) != 2 || got.Version == nil || *got.Version != 1 || got.Stats.NumFragments != 1 {
		t.Errorf("got %+v, want the schema and the one fragment of version 1", got)
	}
	got, err = service.Describe(t.Context(), &tableapi.DescribeRequest{Common: servicetest.Named("d"), CheckDeclared: true})
	if err != nil {
		t.Fatal(err)
	}
	if got.IsOnlyDeclared == nil || !*got.IsOnlyDeclared || got.Properties["k"] != "v" {
		t.Errorf("got %+v, want a declared table with its property", got)
	}
}

func TestExistsLooksAtTheNameAndAtAVersion(t *testing.T) {
	_, service := open(t)
	for _, c := range []struct {
		name    string
		version *int64
		code    protocol.Code
		missing bool
	}{
		{"t", nil, 0, false}, {"d", nil, 0, false}, {"t", number(2), 0, false},
		{"t", number(3), protocol.TableVersionNotFound, true}, {"no", nil, protocol.TableNotFound, true},
	} {
		_, err := service.Exists(t.Context(), &tableapi.ExistsRequest{Common: servicetest.Named(c.name), Version: c.version})
		if c.missing {
			servicetest.WantCode(t, c.name, err, c.code)
		} else if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestRenameKeepsTheRows(t *testing.T) {
	house, service := open(t)
	_, err := service.Rename(t.Context(), &tableapi.RenameRequest{Common: servicetest.Named("t"), NewTableName: "d"})
	servicetest.WantCode(t, "rename to a name that is taken", err, protocol.TableAlreadyExists)
	if _, err := service.Rename(t.Context(), &tableapi.RenameRequest{Common: servicetest.Named("t"), NewTableName: "u"}); err != nil {
		t.Fatal(err)
	}
	if got := house.TableNames(t); !slices.Equal(got, []string{"d", "u"}) {
		t.Errorf("got tables %v, want d and u", got)
	}
	if got := house.Rows(t, "u"); got != asLines {
		t.Errorf("got rows\n%swant\n%s", got, asLines)
	}
}

func TestDeregisteredTableCanBeRegisteredAgain(t *testing.T) {
	house, service := open(t)
	gone, err := service.Deregister(t.Context(), &tableapi.DeregisterRequest{Common: servicetest.Named("t")})
	if err != nil {
		t.Fatal(err)
	}
	if got := house.TableNames(t); !slices.Equal(got, []string{"d"}) {
		t.Errorf("got tables %v, want d", got)
	}
	place := gone.Location[len(servicetest.Root)+1:]
	if _, err := service.Register(t.Context(), &tableapi.RegisterRequest{Common: servicetest.Named("back"), Location: place}); err != nil {
		t.Fatal(err)
	}
	if got := house.Rows(t, "back"); got != asLines {
		t.Errorf("got rows\n%swant\n%s", got, asLines)
	}
	_, err = service.Register(t.Context(), &tableapi.RegisterRequest{Common: servicetest.Named("none"), Location: "nothing.lance"})
	servicetest.WantCode(t, "register of an empty place", err, protocol.InvalidInput)
}

func TestDropLeavesNoFiles(t *testing.T) {
	house, service := open(t)
	if _, err := service.Drop(t.Context(), &tableapi.DropRequest{Common: servicetest.Named("t")}); err != nil {
		t.Fatal(err)
	}
	if files := house.Files(t); len(files) > 0 {
		t.Errorf("got files %v, want none", files)
	}
	_, err := service.Drop(t.Context(), &tableapi.DropRequest{Common: servicetest.Named("t")})
	servicetest.WantCode(t, "drop of what is gone", err, protocol.TableNotFound)
}

func TestCloneBeginsAsAVersionOfItsSource(t *testing.T) {
	house, service := open(t)
	// A clone refers to the files of its source, which its maker must have the right to read.
	ctx := auth.NewContext(t.Context(), &auth.Principal{Subject: "maker"})
	source, err := service.Describe(t.Context(), &tableapi.DescribeRequest{Common: servicetest.Named("t")})
	if err != nil {
		t.Fatal(err)
	}
	clone := &tableapi.CloneRequest{Common: servicetest.Named("c"), SourceLocation: source.Location, SourceVersion: number(1)}
	if _, err := service.Clone(ctx, clone); err != nil {
		t.Fatal(err)
	}
	if got, want := house.Rows(t, "c"), "{\"id\":1,\"name\":\"a\"}\n"; got != want {
		t.Errorf("got rows\n%swant\n%s", got, want)
	}
	_, err = service.Clone(ctx, clone)
	servicetest.WantCode(t, "clone to a name that is taken", err, protocol.TableAlreadyExists)
}

func TestDeepCloneOutlivesItsSource(t *testing.T) {
	house, service := open(t)
	ctx := auth.NewContext(t.Context(), &auth.Principal{Subject: "maker"})
	source, err := service.Describe(t.Context(), &tableapi.DescribeRequest{Common: servicetest.Named("t")})
	if err != nil {
		t.Fatal(err)
	}
	deep := false
	clone := &tableapi.CloneRequest{Common: servicetest.Named("c"), SourceLocation: source.Location, IsShallow: &deep}
	if _, err := service.Clone(ctx, clone); err != nil {
		t.Fatal(err)
	}
	if _, err := service.Drop(t.Context(), &tableapi.DropRequest{Common: servicetest.Named("t")}); err != nil {
		t.Fatal(err)
	}
	if got := house.Rows(t, "c"); got != asLines {
		t.Errorf("got rows\n%swant\n%s", got, asLines)
	}
}

// A clone fails at any call of the storage, before or after what the call does. Then either there is
// no table of the name, and the clone succeeds when it is asked for again, or there is all of it.
func TestDeepCloneIsThereAsAWholeOrNotAtAll(t *testing.T) {
	for _, c := range []struct {
		fault  faultstore.Fault
		calls  int64 // that fail, one after the other
		copies bool  // whether the store copies objects by itself
	}{
		{faultstore.Fault{Crash: true, Err: faultstore.ErrCrashed}, 1, false},
		{faultstore.Fault{Crash: true, Lost: true}, 1, false},
		{faultstore.Fault{Lost: true}, 1, false},
		{faultstore.Fault{Lost: true}, 2, false}, // a put, and the read that looks for its outcome
		{faultstore.Fault{Crash: true, Err: faultstore.ErrCrashed}, 1, true},
		{faultstore.Fault{Crash: true, Lost: true}, 1, true},
		{faultstore.Fault{Lost: true}, 1, true},
		{faultstore.Fault{Lost: true}, 2, true},
	} {
		at := int64(1)
		for !cloneWith(t, c.fault, at, c.calls, c.copies) {
			at++
		}
		if at < 10 {
			t.Fatalf("a deep clone made %d calls, want 10 at least", at)
		}
	}
}

// A reader is a store that copies no objects by itself.
type reader struct{ objectstore.Store }

// cloneWith makes a deep clone of which some calls from a number on fail, and another one if need be.
// It reports whether there were fewer calls.
func cloneWith(t *testing.T, fault faultstore.Fault, at, failing int64, copies bool) (done bool) {
	t.Helper()
	ctx := auth.NewContext(t.Context(), &auth.Principal{Subject: "maker"})
	house, service := open(t)
	inner := house.Objects
	if !copies {
		inner = reader{inner}
	}
	source, err := service.Describe(t.Context(), &tableapi.DescribeRequest{Common: servicetest.Named("t")})
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	faulty := servicetest.Over(t, faultstore.New(inner, func(faultstore.Call) faultstore.Fault {
		if n := calls.Add(1); n >= at && n < at+failing {
			return fault
		}
		return faultstore.Fault{}
	}))
	deep := false
	clone := &tableapi.CloneRequest{Common: servicetest.Named("c"), SourceLocation: source.Location, IsShallow: &deep}
	_, failed := table.New(faulty.Tables).Clone(ctx, clone)
	after := servicetest.Over(t, house.Objects)
	again := table.New(after.Tables)
	_, err = again.Exists(t.Context(), &tableapi.ExistsRequest{Common: servicetest.Named("c")})
	if protocol.CodeOf(err) == protocol.TableNotFound && failed != nil {
		_, err = again.Clone(ctx, clone)
	}
	if err != nil {
		t.Fatalf("call %d, %+v: %v", at, fault, err)
	}
	if got := after.Rows(t, "c"); got != asLines {
		t.Errorf("call %d, %+v: got rows\n%swant\n%s", at, fault, got, asLines)
	}
	return calls.Load() < at
}

func TestStatsCountRowsAndFragments(t *testing.T) {
	house, service := open(t)
	house.Insert(t, "t", `[{"id":3},{"id":4},{"id":5}]`)
	got, err := service.Stats(t.Context(), &tableapi.GetStatsRequest{Common: servicetest.Named("t")})
	if err != nil {
		t.Fatal(err)
	}
	f := got.FragmentStats
	if got.NumRows != 5 || f.NumFragments != 3 || f.NumSmallFragments != 3 || f.Lengths.Min != 1 || f.Lengths.Max != 3 || f.Lengths.Mean != 1 || got.TotalBytes == 0 {
		t.Errorf("got %+v, want five rows in fragments of one, one and three", got)
	}
}
