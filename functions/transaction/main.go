// Command transaction is the Lambda function behind /v1/transaction and /v1/jobs. It reads
// and writes the records of transactions, and reads those of the catalog and the manifests
// of tables, which tell of commits.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/lance/dataset"
	service "tiltyard/shared/service/transaction"
	"tiltyard/shared/transaction"
)

func main() {
	env := boot.FromEnv()
	records := transaction.Open(env.Records, env.Now)
	names := catalog.Open(env.Objects, env.Now)
	session := dataset.NewSession(env.CacheBytes, env.Now)
	session.Roots = env.Objects
	rows := engine.New(session, engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK})
	apigateway.Serve(env.Handler(service.New(records, names, rows).Routes()...))
}
