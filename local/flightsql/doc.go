// Package flightsql serves SQL to drivers over Arrow Flight SQL: ADBC, JDBC, and LanceDB clients from 0.41 on.
//
// It translates and has no engine. A statement becomes POST /v1/sql, and a question about tables becomes the operations
// that list and describe them. The requests go to the handler in this process that also answers REST ([front]), with the
// credentials of the driver. So rights, policies, limits, audit lines, metrics and traces are those of REST.
//
// The server keeps no sessions. A ticket, and the handle of a prepared statement, contain the statement itself with its
// parameters ([statement]). They are no secrets and give no rights: each call signs in again.
//
// Begin with server.go, which lists the calls. Follow a statement through info.go, front.go and send.go.
package flightsql
