package client_test

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/client"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/jobapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/protocol/secretapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/protocol/viewapi"
)

func TestClientHandlesATableFromItsCreationToItsDrop(t *testing.T) {
	c, ctx := open(t), t.Context()
	ok[*namespaceapi.CreateResponse](t)(c.CreateNamespace(ctx, &namespaceapi.CreateRequest{
		Common: client.ID("a b+c/ä"), Properties: map[string]string{"owner": "me"},
	}))
	id := client.ID("a b+c/ä", "points")
	created := ok[*dataapi.CreateTableResponse](t)(c.CreateTable(ctx,
		&dataapi.CreateTableRequest{Common: id, Properties: map[string]string{"k": "v"}}, client.Batches(pointSchema, points(1, 2))))
	if created.Version != 1 || created.Properties["k"] != "v" {
		t.Errorf("created is %+v, want version 1 with the property", created)
	}
	ok[*dataapi.InsertResponse](t)(c.InsertIntoTable(ctx, &dataapi.InsertRequest{Common: id}, client.Batches(pointSchema, points(3), points(), points(4, 5))))
	merged := ok[*dataapi.MergeInsertResponse](t)(c.MergeInsertIntoTable(ctx, &dataapi.MergeInsertRequest{
		Common: id, On: []string{"id"}, WhenMatchedUpdateAll: true, WhenNotMatchedInsertAll: true,
	}, client.Batches(pointSchema, points(5, 6))))
	if merged.NumUpdatedRows != 1 || merged.NumInsertedRows != 1 {
		t.Errorf("merged is %+v, want 1 updated and 1 inserted", merged)
	}
	updated := ok[*dataapi.UpdateResponse](t)(c.UpdateTable(ctx, &dataapi.UpdateRequest{
		Common: id, Updates: [][]string{{"name", "'six'"}}, Predicate: "id = 6",
	}))
	if updated.UpdatedRows != 1 {
		t.Errorf("updated is %+v, want 1 row", updated)
	}
	deleted := ok[*dataapi.DeleteResponse](t)(c.DeleteFromTable(ctx, &dataapi.DeleteRequest{Common: id, Predicate: "id = 1"}))
	if deleted.NumDeletedRows != 1 {
		t.Errorf("deleted is %+v, want 1 row", deleted)
	}
	count := ok[*queryapi.CountRowsResponse](t)(c.CountTableRows(ctx, &queryapi.CountRowsRequest{Common: id, Predicate: "id > 2"}))
	if count.Count != 4 {
		t.Errorf("count is %d, want 4", count.Count)
	}
	rows := ok[*client.Rows](t)(c.QueryTable(ctx, &queryapi.Request{
		Common: id, Filter: "id > 2", Columns: queryapi.Projection{{Name: "id"}, {Name: "twice", Expression: "id * 2"}},
		OrderBy: []queryapi.OrderBy{{ColumnName: "id", Ascending: new(false)}},
	}))
	if rows.Version != deleted.Version || rows.Schema().NumFields() != 2 || rows.Schema().Field(1).Name != "twice" {
		t.Errorf("version %d, schema %v; want %d, and id and twice", rows.Version, rows.Schema(), deleted.Version)
	}
	if got := idsOf(t, rows); got != "6 5 4 3" {
		t.Errorf("ids are %s, want 6 5 4 3", got)
	}
	near := ok[*client.Rows](t)(c.QueryTable(ctx, &queryapi.Request{
		Common: id, Vector: queryapi.Vector{Vectors: [][]float64{{4.1, 2}}}, K: new(int64(1)),
	}))
	if got := idsOf(t, near); got != "4" {
		t.Errorf("the nearest is %s, want 4", got)
	}
	plan := ok[*queryapi.Plan](t)(c.ExplainTableQueryPlan(ctx, &queryapi.ExplainPlanRequest{Common: id, Query: &queryapi.Request{Filter: "id > 2"}}))
	if !strings.Contains(string(*plan), "id") {
		t.Errorf("plan is %q, want one with the filter", *plan)
	}
	described := ok[*tableapi.DescribeResponse](t)(c.DescribeTable(ctx, &tableapi.DescribeRequest{Common: id, LoadDetailedMetadata: true}))
	if len(described.Schema.Fields) != 3 || *described.Version != deleted.Version {
		t.Errorf("described is %+v, want 3 fields and version %d", described, deleted.Version)
	}
	if got := collect(t, c.Tables(ctx, &tableapi.ListRequest{Common: client.ID("a b+c/ä")})); !slices.Equal(got, []string{"points"}) {
		t.Errorf("tables are %q", got)
	}
	if err := c.TableExists(ctx, &tableapi.ExistsRequest{Common: id}); err != nil {
		t.Error(err)
	}
	ok[*tableapi.DropResponse](t)(c.DropTable(ctx, &tableapi.DropRequest{Common: id}))
	if err := c.TableExists(ctx, &tableapi.ExistsRequest{Common: id}); !errors.Is(err, protocol.TableNotFound) {
		t.Errorf("after the drop: %v, want TableNotFound", err)
	}
	ok[*namespaceapi.DropResponse](t)(c.DropNamespace(ctx, &namespaceapi.DropRequest{Common: client.ID("a b+c/ä")}))
	nothing, err := c.DropNamespace(ctx, &namespaceapi.DropRequest{Common: client.ID("a b+c/ä"), Mode: namespaceapi.DropModeSkip})
	if nothing != nil || err != nil {
		t.Errorf("a second drop: %v, %v; want nothing", nothing, err)
	}
}

func TestColumnsVersionsTagsAndBranches(t *testing.T) {
	c, ctx := open(t), t.Context()
	createPoints(t, c, "t", 1, 2)
	id := client.ID("t")
	ok[*schemaapi.AddColumnsResponse](t)(c.AlterTableAddColumns(ctx, &schemaapi.AddColumnsRequest{
		Common: id, NewColumns: []schemaapi.NewColumn{{Name: "half", Expression: "id / 2"}},
	}))
	ok[*schemaapi.AlterColumnsResponse](t)(c.AlterTableAlterColumns(ctx, &schemaapi.AlterColumnsRequest{
		Common: id, Alterations: []schemaapi.Alteration{{Path: "half", Rename: "part"}},
	}))
	metadata := ok[*protocol.Properties](t)(c.UpdateTableSchemaMetadata(ctx, &schemaapi.UpdateMetadataRequest{Common: id, Metadata: map[string]string{"id": "x"}}))
	if (*metadata)["id"] != "x" {
		t.Errorf("metadata is %v, want the key id", *metadata)
	}
	ok[*refapi.SetTagResponse](t)(c.CreateTableTag(ctx, &refapi.SetTagRequest{Common: id, Tag: "first", Version: new(int64(1))}))
	tags := collect(t, c.Tags(ctx, &refapi.ListTagsRequest{Common: id}))
	if len(tags) != 1 || tags[0].Name != "first" || tags[0].Version != 1 {
		t.Errorf("tags are %+v, want first of version 1", tags)
	}
	ok[*refapi.CreateBranchResponse](t)(c.CreateTableBranch(ctx, &refapi.CreateBranchRequest{Common: id, Name: "try"}))
	branches := collect(t, c.Branches(ctx, &refapi.ListBranchesRequest{Common: id}))
	if len(branches) != 1 || branches[0].Name != "try" {
		t.Errorf("branches are %+v, want try", branches)
	}
	ok[*schemaapi.DropColumnsResponse](t)(c.AlterTableDropColumns(ctx, &schemaapi.DropColumnsRequest{Common: id, Columns: []string{"part"}}))
	picked := ok[*refapi.CherryPickResponse](t)(c.CherryPickTableBranch(ctx, &refapi.CherryPickRequest{Common: id, FromBranch: "try"}))
	if picked.Status != refapi.CherryPickFailed || len(picked.Diff.Errors) == 0 {
		t.Errorf("picked is %+v, want failed with reasons", picked)
	}
	var versions []int64
	for version, err := range c.Versions(ctx, &versionapi.ListRequest{Common: id, Page: protocol.Page{Limit: new(int64(2))}}) {
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, version.Version)
	}
	if !slices.Equal(versions, []int64{1, 2, 3, 4, 5}) {
		t.Errorf("versions are %v, want 1 to 5, over three pages", versions)
	}
	ok[*versionapi.RestoreResponse](t)(c.RestoreTable(ctx, &versionapi.RestoreRequest{Common: id, Version: new(int64(1))}))
	differ := ok[*versionapi.CompareResponse](t)(c.CompareTableVersions(ctx, &versionapi.CompareRequest{Common: id, FromVersion: new(int64(1))}))
	if differ.ToVersion != 6 || differ.Removed.Count+differ.Added.Count+differ.Changed.Count != 0 {
		t.Errorf("the restored version differs from the first by %+v", differ)
	}
}

func TestClientWaitsForAnIndexBuild(t *testing.T) {
	c, ctx := open(t), t.Context()
	createPoints(t, c, "t", 1, 2, 3)
	begun := ok[*indexapi.CreateResponse](t)(c.CreateTableIndex(ctx, &indexapi.CreateRequest{Common: client.ID("t"), Column: "id", Type: "BTREE", Name: "by id/1"}))
	looks := 0
	done := ok[*jobapi.DescribeResponse](t)(c.Wait(ctx, begun.JobID, func(*jobapi.DescribeResponse) { looks++ }))
	if done.JobState != jobapi.Done || looks == 0 {
		t.Errorf("the job is %+v after %d looks, want it done", done, looks)
	}
	indices := collect(t, c.Indices(ctx, &indexapi.ListRequest{Common: client.ID("t")}))
	if len(indices) != 1 || indices[0].Name != "by id/1" || indices[0].NumIndexedRows != 3 {
		t.Errorf("indices are %+v, want one of 3 rows", indices)
	}
	stats := ok[*indexapi.DescribeStatsResponse](t)(c.DescribeTableIndexStats(ctx, &indexapi.DescribeStatsRequest{Common: client.ID("t"), IndexName: "by id/1"}))
	if stats.NumIndexedRows != 3 {
		t.Errorf("stats are %+v, want 3 rows", stats)
	}
	if jobs := collect(t, c.Jobs(ctx, &jobapi.ListRequest{})); len(jobs) != 1 || jobs[0].JobID != begun.JobID {
		t.Errorf("jobs are %+v, want the one", jobs)
	}
}

func TestViewsAndSecrets(t *testing.T) {
	c, ctx := open(t), t.Context()
	createPoints(t, c, "t", 1, 2, 3)
	view := ok[*viewapi.CreateMaterializedResponse](t)(c.CreateMaterializedView(ctx, &viewapi.CreateMaterializedRequest{Common: client.ID("v"), Query: "SELECT id FROM t WHERE id > 1"}))
	ok[*jobapi.DescribeResponse](t)(c.Wait(ctx, view.JobID, nil))
	if got := idsOf(t, ok[*client.Rows](t)(c.QueryTable(ctx, &queryapi.Request{Common: client.ID("v")}))); got != "2 3" {
		t.Errorf("ids of the view are %s, want 2 3", got)
	}
	if err := c.CreateSecret(ctx, &secretapi.WriteRequest{Request: secretapi.Request{Common: client.ID("key")}, Value: "s3cret"}); err != nil {
		t.Fatal(err)
	}
	secrets := collect(t, c.Secrets(ctx, &secretapi.ListRequest{}))
	if diff := cmp.Diff([]secretapi.Listed{{Name: "key"}}, secrets); diff != "" {
		t.Error(diff)
	}
}

func TestRefusalsAreErrorsOfTheProtocol(t *testing.T) {
	c, ctx := open(t), t.Context()
	_, err := c.DescribeTable(ctx, &tableapi.DescribeRequest{Common: client.ID("no")})
	var refusal *client.Error
	if !errors.Is(err, protocol.TableNotFound) || !errors.As(err, &refusal) {
		t.Fatalf("got %v, want TableNotFound", err)
	}
	if refusal.Status != http.StatusNotFound || refusal.RequestID == "" || refusal.Operation != "DescribeTable" || refusal.Kind != "table-not-found" {
		t.Errorf("refusal is %+v", refusal)
	}
	if errors.Is(err, protocol.NamespaceNotFound) || protocol.CodeOf(err) != protocol.TableNotFound {
		t.Errorf("%v has another code", err)
	}
	_, err = c.DescribeTable(ctx, &tableapi.DescribeRequest{Common: client.ID("a$b")})
	if !errors.Is(err, protocol.InvalidInput) {
		t.Errorf("an impossible name: %v, want InvalidInput", err)
	}
	_, err = c.DropTableIndex(ctx, &indexapi.DropRequest{Common: client.ID("t")})
	if !errors.Is(err, protocol.InvalidInput) {
		t.Errorf("an index without a name: %v, want InvalidInput", err)
	}
}

func TestURLsThatAreNoServers(t *testing.T) {
	for _, base := range []string{"", "localhost:10024", "ftp://x", "http://", "http://u:p@h", "http://h?x=1", "http://h#f", "http://h/%zz"} {
		if _, err := client.New(base, client.Options{}); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("New(%q): %v, want an error without a password", base, err)
		}
	}
	if _, err := client.New("http://h", client.Options{Token: "a b"}); err == nil || strings.Contains(err.Error(), "a b") {
		t.Errorf("a token with a space: %v, want an error that does not quote it", err)
	}
}

func TestClientReadsABlobInParts(t *testing.T) {
	c, ctx := open(t), t.Context()
	ok[*dataapi.CreateTableResponse](t)(c.CreateTable(ctx, &dataapi.CreateTableRequest{Common: client.ID("t")}, client.Batches(blobSchema, blobs([]byte("0123456789"), nil))))
	rows := ok[*client.Rows](t)(c.QueryTable(ctx, &queryapi.Request{Common: client.ID("t"), WithRowID: true, Columns: queryapi.Projection{{Name: "id"}}}))
	defer rows.Close()
	var ids []string
	for batch, err := range rows.Batches() {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(batch.NumRows()) {
			ids = append(ids, batch.Column(batch.Schema().FieldIndices("_rowid")[0]).ValueStr(i))
		}
	}
	for _, test := range []struct {
		row  int
		part client.Part
		want string
		null bool
	}{
		{0, client.Part{}, "0123456789", false},
		{0, client.Part{From: 3, Size: 2}, "34", false},
		{0, client.Part{From: 8, Size: 100}, "89", false},
		{0, client.Part{From: 7}, "789", false},
		{0, client.Part{From: 10, Size: 1}, "", false},
		{1, client.Part{}, "", true},
	} {
		blob := ok[*client.Blob](t)(c.ReadTableBlob(ctx, &queryapi.ReadBlobRequest{Common: client.ID("t"), Column: "b", RowID: ids[test.row]}, test.part))
		got, err := io.ReadAll(blob)
		_ = blob.Close()
		if err != nil || string(got) != test.want || blob.Null != test.null || !test.null && blob.Size != 10 {
			t.Errorf("%+v: %q, %+v, %v; want %q", test, got, blob, err, test.want)
		}
	}
}
