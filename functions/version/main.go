// Command version is the Lambda function behind the operations on versions of a table. It
// reads the records of the catalog and the manifests of tables.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/service/version"
)

func main() {
	env := boot.FromEnv()
	names := catalog.Open(env.Objects, env.Now)
	session := dataset.NewSession(env.CacheBytes, env.Now)
	rows := engine.New(session, engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK})
	apigateway.Serve(env.Handler(version.New(names, rows).Routes()...))
}
