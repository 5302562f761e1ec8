package httpapi

import (
	"reflect"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
)

// A Shape describes the bodies of an operation, for the generated documents of the API.
type Shape struct {
	Operation string
	// Request and Response are the types in the operation's row, without pointers.
	Request, Response reflect.Type
	// IsUpload means that the body is an Arrow stream, so no field comes from JSON.
	IsUpload bool
	// IsOnce means that a mutation with an Idempotency-Key happens once.
	IsOnce bool
	// Answers is the default content type of an answer with bytes or rows. It is empty for JSON.
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
