// Command index is the Lambda function behind the operations on indices. It reads the records of the catalog, and reads
// and writes versions of tables.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/service/index"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv()
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(index.New(tables).Routes()...), env.Stream)
}
