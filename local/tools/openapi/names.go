package main

import (
	"reflect"
	"regexp"
	"strings"
)

// wireNamesOfTypes has the names of the components whose Go types have other names. Documents that were published have
// these names, so none of them changes when a Go type does.
var wireNamesOfTypes = map[string]string{
	"accessapi.Decision":        "AccessDecision",
	"accessapi.ExplainRequest":  "ExplainAccessRequest",
	"accessapi.ExplainResponse": "ExplainAccessResponse",
	"accessapi.Object":          "AccessObject",
	"accessapi.Subject":         "AccessSubject",

	"dataapi.DeleteRequest":       "DeleteFromTableRequest",
	"dataapi.DeleteResponse":      "DeleteFromTableResponse",
	"dataapi.InsertRequest":       "InsertIntoTableRequest",
	"dataapi.InsertResponse":      "InsertIntoTableResponse",
	"dataapi.MergeInsertRequest":  "MergeInsertIntoTableRequest",
	"dataapi.MergeInsertResponse": "MergeInsertIntoTableResponse",
	"dataapi.UpdateRequest":       "UpdateTableRequest",
	"dataapi.UpdateResponse":      "UpdateTableResponse",

	"eventapi.Data":         "EventData",
	"eventapi.ListRequest":  "ListEventsRequest",
	"eventapi.ListResponse": "ListEventsResponse",
	"eventapi.Type":         "EventType",

	"functionapi.Adapter":        "FunctionAdapter",
	"functionapi.Artifact":       "FunctionArtifact",
	"functionapi.Content":        "FunctionContent",
	"functionapi.CreateRequest":  "CreateFunctionRequest",
	"functionapi.CreateResponse": "CreateFunctionResponse",
	"functionapi.Descriptor":     "FunctionDescriptor",
	"functionapi.DropResponse":   "DropFunctionResponse",
	"functionapi.Field":          "FunctionField",
	"functionapi.Image":          "FunctionImage",
	"functionapi.ListRequest":    "ListFunctionsRequest",
	"functionapi.ListResponse":   "ListFunctionsResponse",
	"functionapi.Listed":         "ListedFunction",
	"functionapi.Output":         "FunctionOutput",
	"functionapi.Request":        "FunctionRequest",
	"functionapi.Signature":      "FunctionSignature",
	"functionapi.Version":        "FunctionVersion",

	"indexapi.Content":               "IndexContent",
	"indexapi.CreateRequest":         "CreateTableIndexRequest",
	"indexapi.CreateResponse":        "CreateTableIndexResponse",
	"indexapi.DescribeStatsRequest":  "DescribeTableIndexStatsRequest",
	"indexapi.DescribeStatsResponse": "DescribeTableIndexStatsResponse",
	"indexapi.DropRequest":           "DropTableIndexRequest",
	"indexapi.DropResponse":          "DropTableIndexResponse",
	"indexapi.ListRequest":           "ListTableIndicesRequest",
	"indexapi.ListResponse":          "ListTableIndicesResponse",
	"indexapi.PrewarmRequest":        "PrewarmTableIndexRequest",
	"indexapi.PrewarmResponse":       "PrewarmTableIndexResponse",
	"indexapi.TextParameters":        "TextIndexParameters",
	"indexapi.VectorParameters":      "VectorIndexParameters",

	"jobapi.DescribeResponse":   "DescribeJobResponse",
	"jobapi.Failure":            "JobFailure",
	"jobapi.ListRequest":        "ListJobsRequest",
	"jobapi.ListResponse":       "ListJobsResponse",
	"jobapi.PauseResponse":      "PauseJobResponse",
	"jobapi.Progress":           "JobProgress",
	"jobapi.QueryEventsRequest": "QueryJobEventsRequest",
	"jobapi.Request":            "JobRequest",
	"jobapi.ResumeResponse":     "ResumeJobResponse",
	"jobapi.State":              "JobState",

	"namespaceapi.CreateRequest":    "CreateNamespaceRequest",
	"namespaceapi.CreateResponse":   "CreateNamespaceResponse",
	"namespaceapi.DescribeRequest":  "DescribeNamespaceRequest",
	"namespaceapi.DescribeResponse": "DescribeNamespaceResponse",
	"namespaceapi.DropRequest":      "DropNamespaceRequest",
	"namespaceapi.DropResponse":     "DropNamespaceResponse",
	"namespaceapi.ExistsRequest":    "NamespaceExistsRequest",
	"namespaceapi.ListRequest":      "ListNamespacesRequest",
	"namespaceapi.ListResponse":     "ListNamespacesResponse",
	"namespaceapi.UndropRequest":    "UndropNamespaceRequest",
	"namespaceapi.UndropResponse":   "UndropNamespaceResponse",

	"queryapi.AnalyzePlanRequest": "AnalyzeTableQueryPlanRequest",
	"queryapi.CountRowsRequest":   "CountTableRowsRequest",
	"queryapi.CountRowsResponse":  "CountTableRowsResponse",
	"queryapi.ExplainPlanRequest": "ExplainTableQueryPlanRequest",
	"queryapi.FetchBlobsRequest":  "FetchTableBlobsRequest",
	"queryapi.Plan":               "QueryPlan",
	"queryapi.PrewarmRequest":     "PrewarmTableRequest",
	"queryapi.PrewarmResponse":    "PrewarmTableResponse",
	"queryapi.ReadBlobRequest":    "ReadTableBlobRequest",
	"queryapi.ReadResultRequest":  "ReadTableResultRequest",
	"queryapi.Request":            "QueryTableRequest",
	"queryapi.Vector":             "QueryVector",

	"refapi.CherryPickRequest":     "CherryPickTableBranchRequest",
	"refapi.CherryPickResponse":    "CherryPickTableBranchResponse",
	"refapi.CreateBranchRequest":   "CreateTableBranchRequest",
	"refapi.CreateBranchResponse":  "CreateTableBranchResponse",
	"refapi.DeleteBranchRequest":   "DeleteTableBranchRequest",
	"refapi.DeleteBranchResponse":  "DeleteTableBranchResponse",
	"refapi.DeleteTagRequest":      "DeleteTableTagRequest",
	"refapi.DiffBranchesRequest":   "DiffTableBranchesRequest",
	"refapi.GetTagVersionRequest":  "GetTableTagVersionRequest",
	"refapi.GetTagVersionResponse": "GetTableTagVersionResponse",
	"refapi.ListBranchesRequest":   "ListTableBranchesRequest",
	"refapi.ListBranchesResponse":  "ListTableBranchesResponse",
	"refapi.ListTagsRequest":       "ListTableTagsRequest",
	"refapi.ListTagsResponse":      "ListTableTagsResponse",
	"refapi.SetTagRequest":         "SetTableTagRequest",
	"refapi.SetTagResponse":        "SetTableTagResponse",

	"schemaapi.AddColumnsRequest":       "AlterTableAddColumnsRequest",
	"schemaapi.AddColumnsResponse":      "AlterTableAddColumnsResponse",
	"schemaapi.AlterColumnsRequest":     "AlterTableAlterColumnsRequest",
	"schemaapi.AlterColumnsResponse":    "AlterTableAlterColumnsResponse",
	"schemaapi.BackfillColumnsRequest":  "AlterTableBackfillColumnsRequest",
	"schemaapi.BackfillColumnsResponse": "AlterTableBackfillColumnsResponse",
	"schemaapi.DropColumnsRequest":      "AlterTableDropColumnsRequest",
	"schemaapi.DropColumnsResponse":     "AlterTableDropColumnsResponse",
	"schemaapi.UpdateMetadataRequest":   "UpdateTableSchemaMetadataRequest",

	"secretapi.DescribeResponse": "DescribeSecretResponse",
	"secretapi.ListRequest":      "ListSecretsRequest",
	"secretapi.ListResponse":     "ListSecretsResponse",
	"secretapi.Listed":           "ListedSecret",
	"secretapi.Request":          "SecretRequest",
	"secretapi.WriteRequest":     "WriteSecretRequest",

	"tableapi.BasicStats":         "TableBasicStats",
	"tableapi.CloneRequest":       "CloneTableRequest",
	"tableapi.CloneResponse":      "CloneTableResponse",
	"tableapi.DeclareRequest":     "DeclareTableRequest",
	"tableapi.DeclareResponse":    "DeclareTableResponse",
	"tableapi.DeregisterRequest":  "DeregisterTableRequest",
	"tableapi.DeregisterResponse": "DeregisterTableResponse",
	"tableapi.DescribeRequest":    "DescribeTableRequest",
	"tableapi.DescribeResponse":   "DescribeTableResponse",
	"tableapi.DropRequest":        "DropTableRequest",
	"tableapi.DropResponse":       "DropTableResponse",
	"tableapi.ErrorFragment":      "TableErrorFragment",
	"tableapi.ExistsRequest":      "TableExistsRequest",
	"tableapi.FindRequest":        "FindTablesRequest",
	"tableapi.FindResponse":       "FindTablesResponse",
	"tableapi.Found":              "FoundTable",
	"tableapi.GetStatsRequest":    "GetTableStatsRequest",
	"tableapi.GetStatsResponse":   "GetTableStatsResponse",
	"tableapi.GetStorageRequest":  "GetTableStorageRequest",
	"tableapi.GetStorageResponse": "GetTableStorageResponse",
	"tableapi.ListAllRequest":     "ListAllTablesRequest",
	"tableapi.ListErrorsRequest":  "ListTableErrorsRequest",
	"tableapi.ListErrorsResponse": "ListTableErrorsResponse",
	"tableapi.ListRequest":        "ListTablesRequest",
	"tableapi.ListResponse":       "ListTablesResponse",
	"tableapi.MaintainRequest":    "MaintainTableRequest",
	"tableapi.MaintainResponse":   "MaintainTableResponse",
	"tableapi.Match":              "TableMatch",
	"tableapi.PurgeRequest":       "PurgeTableRequest",
	"tableapi.PurgeResponse":      "PurgeTableResponse",
	"tableapi.RegisterRequest":    "RegisterTableRequest",
	"tableapi.RegisterResponse":   "RegisterTableResponse",
	"tableapi.RenameRequest":      "RenameTableRequest",
	"tableapi.RenameResponse":     "RenameTableResponse",
	"tableapi.RowError":           "TableError",
	"tableapi.UndropRequest":      "UndropTableRequest",
	"tableapi.UndropResponse":     "UndropTableResponse",
	"tableapi.Unreadable":         "UnreadableTable",

	"transactionapi.Action":          "TransactionAction",
	"transactionapi.AlterRequest":    "AlterTransactionRequest",
	"transactionapi.DescribeRequest": "DescribeTransactionRequest",
	"transactionapi.Response":        "TransactionResponse",
	"transactionapi.Status":          "TransactionStatus",

	"versionapi.BatchCommitRequest":  "BatchCommitTablesRequest",
	"versionapi.BatchCommitResponse": "BatchCommitTablesResponse",
	"versionapi.BatchCreateRequest":  "BatchCreateTableVersionsRequest",
	"versionapi.BatchCreateResponse": "BatchCreateTableVersionsResponse",
	"versionapi.BatchDeleteRequest":  "BatchDeleteTableVersionsRequest",
	"versionapi.BatchDeleteResponse": "BatchDeleteTableVersionsResponse",
	"versionapi.BatchEntry":          "BatchVersionEntry",
	"versionapi.CommitOperation":     "CommitTableOperation",
	"versionapi.CommitResult":        "CommitTableResult",
	"versionapi.CompareRequest":      "CompareTableVersionsRequest",
	"versionapi.CompareResponse":     "CompareTableVersionsResponse",
	"versionapi.CreateRequest":       "CreateTableVersionRequest",
	"versionapi.CreateResponse":      "CreateTableVersionResponse",
	"versionapi.DescribeRequest":     "DescribeTableVersionRequest",
	"versionapi.DescribeResponse":    "DescribeTableVersionResponse",
	"versionapi.Details":             "VersionDetails",
	"versionapi.ListRequest":         "ListTableVersionsRequest",
	"versionapi.ListResponse":        "ListTableVersionsResponse",
	"versionapi.Range":               "VersionRange",
	"versionapi.RestoreRequest":      "RestoreTableRequest",
	"versionapi.RestoreResponse":     "RestoreTableResponse",
	"versionapi.Staged":              "StagedVersion",
	"versionapi.Version":             "TableVersion",

	"viewapi.CreateMaterializedRequest":    "CreateMaterializedViewRequest",
	"viewapi.CreateMaterializedResponse":   "CreateMaterializedViewResponse",
	"viewapi.CreateRequest":                "CreateViewRequest",
	"viewapi.DescribeMaterializedResponse": "DescribeMaterializedViewResponse",
	"viewapi.DescribeResponse":             "DescribeViewResponse",
	"viewapi.DropMaterializedResponse":     "DropMaterializedViewResponse",
	"viewapi.DropResponse":                 "DropViewResponse",
	"viewapi.Kind":                         "ViewKind",
	"viewapi.ListMaterializedRequest":      "ListMaterializedViewsRequest",
	"viewapi.ListMaterializedResponse":     "ListMaterializedViewsResponse",
	"viewapi.ListRequest":                  "ListViewsRequest",
	"viewapi.ListResponse":                 "ListViewsResponse",
	"viewapi.MaterializedRequest":          "MaterializedViewRequest",
	"viewapi.Projection":                   "ViewProjection",
	"viewapi.RefreshRequest":               "RefreshMaterializedViewRequest",
	"viewapi.RefreshResponse":              "RefreshMaterializedViewResponse",
	"viewapi.Request":                      "ViewRequest",
}

// nameOf returns the name of a type on the wire.
func nameOf(t reflect.Type) string {
	if name, ok := wireNamesOfTypes[t.String()]; ok {
		return name
	}
	return t.Name()
}

// wireName returns the name on the wire of a type that is given as package.Name.
func wireName(qualified string) string {
	if name, ok := wireNamesOfTypes[qualified]; ok {
		return name
	}
	_, name, _ := strings.Cut(qualified, ".")
	return name
}

// renamed returns the comment of a type with its name on the wire where the comment begins.
func renamed(comment, typ, name string) string {
	rest, hasArticle := strings.CutPrefix(strings.TrimPrefix(comment, "An "), "A ")
	rest, isOwn := strings.CutPrefix(rest, typ+" ")
	switch {
	case !isOwn:
		return comment
	case !hasArticle && !strings.HasPrefix(comment, "An "):
		return name + " " + rest
	case strings.ContainsAny(name[:1], "AEIOU"):
		return "An " + name + " " + rest
	}
	return "A " + name + " " + rest
}

var typeLink = regexp.MustCompile(`\[(\*?)((?:[a-z]+\.)?)([A-Z]\w*)((?:\.\w+)?)\]`)

// onTheWire returns a comment in a package with the names on the wire of the types that it links to.
func onTheWire(in, comment string) string {
	return typeLink.ReplaceAllStringFunc(comment, func(link string) string {
		part := typeLink.FindStringSubmatch(link)
		if part[2] == "" {
			part[2] = in + "."
		}
		return "[" + part[1] + wireName(part[2]+part[3]) + part[4] + "]"
	})
}
