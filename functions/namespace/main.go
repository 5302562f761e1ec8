// Command namespace is the Lambda function behind /v1/namespace. It reads and writes
// the records of the catalog and nothing else.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/catalog"
	"tiltyard/shared/httpapi/apigateway"
	"tiltyard/shared/service/namespace"
)

func main() {
	env := boot.FromEnv()
	names := catalog.Open(env.Objects, env.Now)
	apigateway.Serve(env.Handler(namespace.New(names).Routes()...))
}
