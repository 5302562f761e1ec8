// Package viewapi holds the wire types of views: those without rows of their own are in view.go, materialized ones
// in materialized.go. Begin with view.go.
package viewapi
