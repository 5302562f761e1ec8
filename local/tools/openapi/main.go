// Command openapi writes the document of the API, and the text about it for language models, into the folder of the
// console, which serves them:
//
//	go generate ./local/tools/openapi
//
// The document is generated. Its paths are the rows of [operations.All]. Its schemas are the Go types of their requests
// and responses (schema.go), with the forms of types that encode themselves (forms.go) and the names of types on the wire
// (names.go). Its descriptions are the comments of those types (comments.go). All other texts are in info.go. The required
// fields of requests, and examples, are in needs.go. Tests compare all of that with the input that the service accepts.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run .

// folder is the folder from which the console serves the files, relative to this package.
const folder = "../../../shared/http/console/static"

func main() {
	files, err := generate()
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	for name, content := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), content, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

// generate returns the files by name.
func generate() (map[string][]byte, error) {
	comments, err := readComments("../../../shared/protocol", "../../../shared/protocol/*api", "../../../shared/http/httpapi")
	if err != nil {
		return nil, err
	}
	shapes, err := readShapes()
	if err != nil {
		return nil, err
	}
	document, err := encode(newDocument(shapes, comments).build())
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"openapi.json": document, "llms.txt": []byte(llms())}, nil
}
