// Command table is the Lambda function behind the operations on tables as wholes: naming,
// describing, dropping. It reads and writes the records of the catalog, reads manifests,
// and deletes the data of what is dropped.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/service/table"
)

func main() {
	env := boot.FromEnv()
	names := catalog.Open(env.Objects, env.Now)
	session := dataset.NewSession(env.CacheBytes, env.Now)
	session.Roots = env.Objects
	rows := engine.New(session, engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK})
	apigateway.Serve(env.Handler(table.New(names, rows).Routes()...))
}
