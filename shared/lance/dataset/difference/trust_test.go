package difference

import (
	"context"
	"errors"
	"testing"

	"tiltyard/shared/lance/pb"
)

// ours and old are writers that record changes of columns, and that do not.
var (
	ours = &pb.WriterVersion{Library: "tiltyard", Version: "0.1.0"}
	old  = &pb.WriterVersion{Library: "lance", Version: "12.0.1"}
)

// A log holds the operations of versions 1, 2 and so on; nil marks an unreadable one.
type log struct {
	operations []pb.Operation
	writer     *pb.WriterVersion
}

func (l log) commit(_ context.Context, version uint64) (Commit, error) {
	if version == 0 || version > uint64(len(l.operations)) || l.operations[version-1] == nil {
		return Commit{}, errors.New("no such version")
	}
	return Commit{Operation: l.operations[version-1], Writer: l.writer}, nil
}

func TestOperationsThatRecordTheirChangesAreTrusted(t *testing.T) {
	create, appended, rewrite, merge := &pb.Overwrite{}, &pb.Append{}, &pb.Rewrite{}, &pb.Merge{}
	replaced := &pb.Update{Mode: pb.RewriteColumns, UpdatedFragments: []*pb.Fragment{{ID: 3}}}
	named := &pb.Update{Mode: pb.RewriteColumns, UpdatedFragments: []*pb.Fragment{{ID: 3}}, UpdatedOffsets: map[uint64][]byte{3: nil}}
	cases := []struct {
		name     string
		log      log
		from, to uint64
		want     bool
	}{
		{"plain operations", log{[]pb.Operation{create, appended, &pb.Update{}, rewrite}, old}, 1, 4, true},
		{"back in time", log{[]pb.Operation{create, appended, &pb.Update{}, rewrite}, old}, 4, 1, true},
		{"one version", log{}, 7, 7, true},
		{"new columns", log{[]pb.Operation{create, merge}, ours}, 1, 2, true},
		{"new columns of an old writer", log{[]pb.Operation{create, merge}, old}, 1, 2, false},
		{"before both", log{[]pb.Operation{create, merge, appended, appended}, old}, 3, 4, true},
		{"replaced columns of some rows", log{[]pb.Operation{create, named}, ours}, 1, 2, true},
		{"replaced columns of some rows of an old writer", log{[]pb.Operation{create, named}, old}, 1, 2, false},
		{"replaced columns of rows that are not named", log{[]pb.Operation{create, replaced}, ours}, 1, 2, false},
		{"an unknown operation", log{[]pb.Operation{create, &pb.OpaqueOperation{}}, ours}, 1, 2, false},
		{"a version that is gone", log{[]pb.Operation{create, nil, appended}, ours}, 1, 3, false},
		{"restored", log{[]pb.Operation{create, appended, &pb.Restore{Version: 1}}, ours}, 2, 3, true},
		{"restored from before a merge", log{[]pb.Operation{create, merge, &pb.Restore{Version: 1}}, old}, 2, 3, false},
		{"a merge that a restore takes back", log{[]pb.Operation{create, merge, &pb.Restore{Version: 1}}, old}, 1, 3, true},
		{"a restore of itself", log{[]pb.Operation{create, &pb.Restore{Version: 2}}, ours}, 1, 2, false},
		{"a restore of nothing", log{[]pb.Operation{create, &pb.Restore{}}, ours}, 1, 2, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := isTrusted(t.Context(), c.from, c.to, nil, c.log.commit)
			if err != nil || got != c.want {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

// The id of a dropped column may be reused by another column.
func TestHistoriesWithoutTheFieldsAreNotTrusted(t *testing.T) {
	both, one := []*pb.Field{{ID: 4}, {ID: 7}}, []*pb.Field{{ID: 4}}
	create := &pb.Overwrite{Schema: both}
	for _, c := range []struct {
		name   string
		log    log
		fields []int32
		want   bool
	}{
		{"renamed", log{[]pb.Operation{create, &pb.Project{Schema: both}}, ours}, []int32{4, 7}, true},
		{"another is dropped", log{[]pb.Operation{create, &pb.Project{Schema: one}}, ours}, []int32{4}, true},
		{"dropped", log{[]pb.Operation{create, &pb.Project{Schema: one}}, ours}, []int32{4, 7}, false},
		{"dropped and added", log{[]pb.Operation{create, &pb.Project{Schema: one}, &pb.Merge{Schema: both}}, ours}, []int32{7}, false},
		{"dropped by a merge", log{[]pb.Operation{create, &pb.Merge{Schema: one}, &pb.Merge{Schema: both}}, ours}, []int32{7}, false},
		{"added", log{[]pb.Operation{create, &pb.Merge{Schema: both}}, ours}, []int32{4, 7}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			last := uint64(len(c.log.operations))
			if got, err := isTrusted(t.Context(), 1, last, c.fields, c.log.commit); err != nil || got != c.want {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestLongHistoriesAreNotTrusted(t *testing.T) {
	var l log
	for range maxCommits + 2 {
		l.operations = append(l.operations, &pb.Append{})
	}
	for _, c := range []struct {
		from uint64
		want bool
	}{{2, true}, {1, false}} {
		if got, err := isTrusted(t.Context(), c.from, maxCommits+2, nil, l.commit); err != nil || got != c.want {
			t.Errorf("from version %d: got %v, %v; want %v", c.from, got, err, c.want)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := isTrusted(gone, 1, 9, nil, l.commit); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context has ended", err)
	}
}

func TestWritersThatRecordColumns(t *testing.T) {
	for _, c := range []struct {
		writer *pb.WriterVersion
		want   bool
	}{
		{nil, false},
		{ours, true},
		{old, false},
		{&pb.WriterVersion{Library: "lance", Version: "13.0.0"}, true},
		{&pb.WriterVersion{Library: "lance", Version: "13.0.0", Prerelease: "beta.1"}, false},
		{&pb.WriterVersion{Library: "lance", Version: "14.0.2", Prerelease: "beta.1"}, true},
		{&pb.WriterVersion{Library: "lance", Version: "x"}, false},
		{&pb.WriterVersion{Library: "other", Version: "99.0.0"}, false},
	} {
		if got := recordsColumns(c.writer); got != c.want {
			t.Errorf("%+v: got %v, want %v", c.writer, got, c.want)
		}
	}
}
