// Command version is the Lambda function behind the operations on versions of tables. It reads and
// writes the manifests of tables and the records of the catalog.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/service/version"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv()
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(version.New(tables).Routes()...), env.Stream)
}
