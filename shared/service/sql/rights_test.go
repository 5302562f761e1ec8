package sql_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/protocol/operations"
	"tiltyard/shared/service/servicetest"
)

// commandsOf has statements with the operations that they perform. Those with several need all of them.
var commandsOf = []struct {
	text       string
	operations []string
}{
	{"SHOW TABLES", []string{"ListTables"}},
	{"SHOW NAMESPACES", []string{"ListNamespaces"}},
	{"SHOW VIEWS", []string{"ListViews"}},
	{"SHOW MATERIALIZED VIEWS", []string{"ListMaterializedViews"}},
	{"SHOW INDEXES FROM t", []string{"ListTableIndices"}},
	{"SHOW TAGS t", []string{"ListTableTags"}},
	{"SHOW BRANCHES t", []string{"ListTableBranches"}},
	{"SHOW VERSIONS t", []string{"ListTableVersions"}},
	{"SHOW COLUMNS t", []string{"DescribeTable"}},
	{"DESCRIBE t", []string{"DescribeTable"}},
	{"DESCRIBE MATERIALIZED VIEW m", []string{"DescribeMaterializedView"}},
	{"DELETE FROM t WHERE id = 1", []string{"DeleteFromTable"}},
	{"UPDATE t SET id = 1", []string{"UpdateTable"}},
	{"INSERT INTO t VALUES (1)", []string{"InsertIntoTable"}},
	{"INSERT INTO t SELECT id FROM t", []string{"InsertIntoTable", "QueryTable"}},
	{"MERGE INTO t USING t AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *", []string{"MergeInsertIntoTable", "QueryTable"}},
	{"MERGE INTO t USING (SELECT count(*) AS id FROM t) AS s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *", []string{"MergeInsertIntoTable", "QueryTable"}},
	{"CREATE TABLE new (id int)", []string{"CreateTable"}},
	{"CREATE TABLE new AS SELECT id FROM t", []string{"CreateTable", "QueryTable"}},
	{"CREATE OR REPLACE TABLE t (id int)", []string{"CreateTable"}},
	{"CREATE NAMESPACE new", []string{"CreateNamespace"}},
	{"CREATE VIEW new AS SELECT id FROM t", []string{"CreateView", "QueryTable"}},
	{"REFRESH MATERIALIZED VIEW m", []string{"RefreshMaterializedView"}},
	{"CREATE INDEX ON t USING btree (id)", []string{"CreateTableIndex"}},
	{"CREATE TAG a ON t VERSION AS OF 1", []string{"CreateTableTag"}},
	{"CREATE BRANCH a ON t", []string{"CreateTableBranch"}},
	{"DROP TABLE t", []string{"DropTable"}},
	{"DROP TABLE IF EXISTS t", []string{"DropTable"}},
	{"DROP VIEW v", []string{"DropView"}},
	{"DROP MATERIALIZED VIEW m", []string{"DropMaterializedView"}},
	{"DROP NAMESPACE n", []string{"DropNamespace"}},
	{"DROP INDEX i ON t", []string{"DropTableIndex"}},
	{"DROP TAG i ON t", []string{"DeleteTableTag"}},
	{"DROP BRANCH i ON t", []string{"DeleteTableBranch"}},
	{"ALTER TABLE t ADD COLUMN b int", []string{"AlterTableAddColumns"}},
	{"ALTER TABLE t ADD b GENERATED ALWAYS AS (id)", []string{"AlterTableAddColumns"}},
	{"ALTER TABLE t DROP COLUMN id", []string{"AlterTableDropColumns"}},
	{"ALTER TABLE t RENAME COLUMN id TO b", []string{"AlterTableAlterColumns"}},
	{"ALTER TABLE t ALTER id TYPE int", []string{"AlterTableAlterColumns"}},
	{"ALTER TABLE t RENAME TO new", []string{"RenameTable", "CreateTable"}},
	{"OPTIMIZE TABLE t", []string{"MaintainTable"}},
}

// A command needs the rights to its operations: without one of them it is refused, and with them it is not, whatever else
// is missing. By scopes it needs the scope of its operations.
func TestCommandsNeedTheRightsOfTheirOperations(t *testing.T) {
	d := open(t)
	d.does("CREATE NAMESPACE n", "CREATE TABLE t (id bigint)", "CREATE VIEW v AS SELECT id FROM t", "CREATE MATERIALIZED VIEW m AS SELECT id FROM t")
	before := d.does("SHOW VERSIONS t") + d.does("SHOW TABLES") + d.does("SHOW NAMESPACES") + d.does("SHOW VIEWS") + d.does("SHOW TAGS t")
	ctx := d.ctx
	for _, c := range commandsOf {
		for _, without := range c.operations {
			// All objects are visible, as who reads only may see them.
			d.ctx = under(ctx, t, fmt.Sprintf(`permit (principal, action, resource) unless { action == Action::%q };`, without))
			if without == "DescribeTable" {
				d.refuses(c.text, protocol.TableNotFound, "t") // hidden
				continue
			}
			d.refuses(c.text, protocol.PermissionDenied, without)
			op, _ := operations.Lookup(without)
			if op.Access == protocol.Write {
				d.ctx = auth.NewContext(t.Context(), &auth.Principal{Subject: "ada", Scopes: []string{auth.ScopeRead}})
				d.refuses(c.text, protocol.PermissionDenied, "needs the scope")
			}
		}
		d.ctx = under(ctx, t, `permit (principal, action in [Action::"QueryTable", Action::"DescribeTable", Action::"DescribeNamespace"], resource);`)
		rows, err := d.run(c.text, "")
		switch op, _ := operations.Lookup(c.operations[0]); {
		case op.Access == protocol.Read:
		case err == nil:
			t.Errorf("%s: who may only read got %s", c.text, servicetest.Lines(t, rows))
		default:
			servicetest.WantCode(t, c.text, err, protocol.PermissionDenied)
		}
	}
	d.ctx = ctx
	if after := d.does("SHOW VERSIONS t") + d.does("SHOW TABLES") + d.does("SHOW NAMESPACES") + d.does("SHOW VIEWS") + d.does("SHOW TAGS t"); after != before {
		t.Errorf("refused statements have changed something:\n%s\n%s", before, after)
	}
}

// under returns a context with policies.
func under(ctx context.Context, t *testing.T, policies string) context.Context {
	t.Helper()
	opened := auth.OpenPolicies(func(context.Context) ([]byte, error) { return []byte(policies), nil }, time.Now)
	access, err := opened.Access(t.Context(), auth.FromContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	return auth.WithAccess(ctx, access)
}
