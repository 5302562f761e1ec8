// Package http documents the wing between the network and the services.
//
// Package httpapi makes an http.Handler out of the rows of operations: it authenticates a request,
// limits and decodes its body, calls the service, and encodes the answer or the problem document. The
// same handler runs in a local server and, behind httpapi/apigateway, in a Lambda function. Package
// console serves the web page, audit writes the audit lines, and metrics counts requests.
//
// No package of this wing knows a table: what an operation does is in the wing service.
//
// Begin with httpapi/handler.go.
package http
