// Package eventapi holds the wire types of events: the types of changes, an event in the form of CloudEvents, and
// the operation that reads them. Begin with event.go.
package eventapi
