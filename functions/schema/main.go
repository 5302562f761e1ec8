// Command schema is the Lambda function behind the operations that change the columns of tables. It reads the
// records of the catalog, and reads and writes tables.
package main

import (
	"tiltyard/shared/boot"
	"tiltyard/shared/http/httpapi/apigateway"
	"tiltyard/shared/service/schema"
	"tiltyard/shared/tables"
)

func main() {
	env := boot.FromEnv()
	tables := tables.Open(env.Stores())
	apigateway.Serve(env.Handler(schema.New(tables, env.Uploads).Routes()...), env.Stream)
}
