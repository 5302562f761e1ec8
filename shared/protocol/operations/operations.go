package operations

import (
	"cmp"
	"slices"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/accessapi"
	"tiltyard/shared/protocol/dataapi"
	"tiltyard/shared/protocol/eventapi"
	"tiltyard/shared/protocol/functionapi"
	"tiltyard/shared/protocol/indexapi"
	"tiltyard/shared/protocol/jobapi"
	"tiltyard/shared/protocol/namespaceapi"
	"tiltyard/shared/protocol/queryapi"
	"tiltyard/shared/protocol/refapi"
	"tiltyard/shared/protocol/schemaapi"
	"tiltyard/shared/protocol/secretapi"
	"tiltyard/shared/protocol/tableapi"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/protocol/versionapi"
	"tiltyard/shared/protocol/viewapi"
)

// All is the one table of operations, from which routing, permissions, deployment, the Go client
// and documentation are made. It must not be changed. Each row is beside the type of its request.
var All = slices.Concat(
	in("namespace", namespaceapi.Operations, accessapi.Operations),
	in("table", tableapi.Operations),
	in("schema", schemaapi.Operations),
	in("data", dataapi.Operations, dataapi.LogOperations),
	in("query", queryapi.Operations),
	in("sql", queryapi.StatementOperations),
	in("index", indexapi.Operations),
	in("version", versionapi.Operations),
	in("ref", refapi.Operations),
	in("transaction", transactionapi.Operations, jobapi.Operations, eventapi.Operations, tableapi.MaintainOperations),
	in("view", viewapi.MaterializedOperations, viewapi.Operations, functionapi.Operations, secretapi.Operations, tableapi.ErrorOperations),
)

// in completes the rows of the operations that one function serves.
func in(function string, lists ...[]protocol.Operation) []protocol.Operation {
	rows := slices.Concat(lists...)
	for i := range rows {
		rows[i].Function = function
		rows[i].Permission = cmp.Or(rows[i].Permission, rows[i].Name)
		rows[i].LeastBody = cmp.Or(rows[i].LeastBody, "{}")
	}
	return rows
}

// Lookup returns the operation of that name.
func Lookup(name string) (protocol.Operation, bool) {
	for _, op := range All {
		if op.Name == name {
			return op, true
		}
	}
	return protocol.Operation{}, false
}
