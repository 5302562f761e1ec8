// Command transaction is the Lambda function behind /v1/transaction and /v1/jobs. It reads
// and writes the records of transactions, reads those of the catalog and the manifests of
// tables, which record commits, and begins jobs.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/service/transaction"
	"tiltyard/shared/tables"
	"tiltyard/shared/work/maintain"
)

func main() {
	env := boot.FromEnv()
	tables := tables.Open(env.Stores())
	keeper := maintain.Open(tables, env.RequestTimeout)
	apigateway.Serve(env.Handler(transaction.New(tables, keeper).Routes()...), env.Stream)
}
