// Package eventapi contains the wire types of events: the types of changes, events in the form of CloudEvents, and the
// operation that reads them. Begin with event.go.
package eventapi
