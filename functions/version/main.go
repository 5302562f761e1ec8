// Command version is the Lambda function behind the operations on versions of tables. It
// reads the manifests of tables and writes them, and the records of the catalog.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/service"
	"tiltyard/shared/service/version"
	"tiltyard/shared/transaction"
)

func main() {
	env := boot.FromEnv()
	session := dataset.NewSession(env.CacheBytes, env.Now)
	session.Roots = env.Objects
	tables := service.Tables{
		Names:        catalog.Open(env.Objects, env.Now),
		Rows:         engine.New(session, engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK}),
		Transactions: transaction.Open(env.Records, env.Now),
	}
	apigateway.Serve(env.Handler(version.New(tables).Routes()...))
}
