package httpapi

import (
	"reflect"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
)

// A Shape is what a route knows about the bodies of its operation. Documents of the API are made from
// it.
type Shape struct {
	Operation string
	// Request and Response are what the function takes and returns, without pointers: the types of the row of
	// the operation.
	Request, Response reflect.Type
	// IsUpload means that the body is an Arrow stream, so no field comes from JSON.
	IsUpload bool
	// IsOnce means that a mutation with an Idempotency-Key happens once.
	IsOnce bool
	// Answers is the content type of an answer of bytes or rows where the client asks for no other. It
	// is empty for JSON.
	Answers string
}

// Shape returns the shape of the route's operation.
func (r Route) Shape() Shape {
	operation, _ := operations.Lookup(r.operation)
	return Shape{
		Operation: r.operation, Request: r.request, Response: r.response,
		IsUpload: r.body == arrowBody, IsOnce: operation.Access == protocol.Write && !r.concealed, Answers: r.answers,
	}
}

// ProblemType is the type of the JSON object that answers an error.
var ProblemType = reflect.TypeFor[problem]()
