// Command data is the Lambda function behind the operations that write rows. It reads the
// records of the catalog, writes those of tables that it creates, and reads and writes
// tables.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/service/data"
)

func main() {
	env := boot.FromEnv()
	names := catalog.Open(env.Objects, env.Now)
	session := dataset.NewSession(env.CacheBytes, env.Now)
	rows := engine.New(session, engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK})
	apigateway.Serve(env.Handler(data.New(names, rows, env.Uploads).Routes()...))
}
