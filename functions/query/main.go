// Command query is the Lambda function behind the operations that read rows. It writes
// nothing.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/catalog"
	"tiltyard/shared/engine"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/lance/dataset"
	"tiltyard/shared/service/query"
)

func main() {
	env := boot.FromEnv()
	names := catalog.Open(env.Objects, env.Now)
	session := dataset.NewSession(env.CacheBytes, env.Now)
	session.Roots = env.Objects
	rows := engine.New(session, engine.Limits{MergeBytes: env.MergeBytes, TopK: env.TopK})
	apigateway.Serve(env.Handler(query.New(names, rows).Routes()...))
}
