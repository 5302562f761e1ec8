// Package http documents the packages between the network and the services.
//
// Package httpapi makes an http.Handler from the table of operations: it authenticates a request,
// limits and decodes its body, calls the service, and encodes the answer or the problem document. The
// same handler runs in a local server and, behind httpapi/apigateway, in a Lambda function. Package
// console serves the web page, audit writes the audit lines, and metrics counts requests.
//
// None of these packages works on tables. The packages below shared/service execute the operations.
//
// Begin with httpapi/handler.go.
package http
