package operations

import (
	"slices"
	"strings"
)

// An IgnoredField is a field of requests that has no effect here, although clients know it and may send it.
type IgnoredField struct {
	Operation string
	Field     string // in the JSON body, at whatever depth, or in the query string
	Reason    string
}

// Ignored lists these fields. All other fields that clients of the public specification and of LanceDB send are used, or
// are refused by name if this service does not support them.
var Ignored = slices.Concat(
	ignored("tells other services where and how to run functions; here the deployment decides that",
		"AlterTableBackfillColumns.batch_checkpoint_flush_interval_seconds", "AlterTableBackfillColumns.cluster",
		"AlterTableBackfillColumns.intra_applier_concurrency", "AlterTableBackfillColumns.manifest",
		"AlterTableBackfillColumns.max_checkpoint_size", "AlterTableBackfillColumns.min_checkpoint_size",
		"RefreshMaterializedView.cluster", "RefreshMaterializedView.intra_applier_concurrency", "RefreshMaterializedView.manifest",
		"RefreshMaterializedView.max_rows_per_fragment", "RefreshMaterializedView.source_task_size",
		"RefreshTable.cluster", "RefreshTable.intra_applier_concurrency", "RefreshTable.manifest",
		"RefreshTable.max_rows_per_fragment", "RefreshTable.source_task_size"),
	ignored("trades exactness for speed where vectors are stored as codes; such distances are computed in one way here, and refine_factor makes them exact",
		"QueryTable.approx_mode", "AnalyzeTableQueryPlan.approx_mode", "ExplainTableQueryPlan.approx_mode"),
	ignored("is about queries that several servers answer together; here one does", "AnalyzeTableQueryPlan.distributed_metrics"),
	ignored("is about the write-ahead log, which no table here has",
		"GetLsmStats.include_generation_rows", "GetRteStats.include_sstable_rows"),
	ignored("describes a write-ahead log; the operation is refused whatever it says",
		"SetLsmWriteSpec.sharding", "SetLsmWriteSpec.mode", "SetLsmWriteSpec.column", "SetLsmWriteSpec.num_buckets",
		"SetLsmWriteSpec.maintained_indexes", "SetLsmWriteSpec.writer_config_defaults",
		"EnableRte.sharding", "EnableRte.mode", "EnableRte.column", "EnableRte.num_buckets",
		"EnableRte.maintained_indexes", "EnableRte.writer_config_defaults"),
	ignored("asks for the definitions of functions, which the answer always has", "ListFunctions.include_definition"),
	ignored("is about indices of the type RTREE, which are refused", "CreateTableIndex.page_size"),
)

// ignored returns fields with the same reason, given as Operation.field.
func ignored(reason string, fields ...string) []IgnoredField {
	all := make([]IgnoredField, len(fields))
	for i, field := range fields {
		operation, name, _ := strings.Cut(field, ".")
		all[i] = IgnoredField{operation, name, reason}
	}
	return all
}
