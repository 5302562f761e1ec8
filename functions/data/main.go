// Command data is the Lambda function behind the operations that write rows. It reads the
// records of the catalog, writes those of tables that it creates, and reads and writes
// tables.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/service/data"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv()
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(data.New(tables, env.Uploads).Routes()...), env.Stream)
}
