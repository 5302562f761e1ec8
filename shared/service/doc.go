// Package service documents the operations. Each folder below it is a group of operations, and each
// file in it is one operation: POST /v1/namespace/{id}/drop is namespace/drop.go.
//
// A method of a service takes and returns the types of package protocol. It checks the request,
// opens a handle of package tables or calls the catalog, acts, and returns the answer. It contains
// no HTTP: package http/httpapi decodes requests, and turns errors into problem documents. A
// service does no long work: it starts a job, and package work does it.
//
// Package all joins the groups for programs that serve every operation. Its tests check all groups:
// the permitted imports, the storage requests of each operation, and the rights that it needs.
//
// Begin with namespace/create.go, which is short, and then table/create.go.
package service
