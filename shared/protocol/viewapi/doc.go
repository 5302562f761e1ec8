// Package viewapi contains the wire types of views: plain views, which store no rows, are in view.go, materialized ones in
// materialized.go. Begin with view.go.
package viewapi
