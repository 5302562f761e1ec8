// Package refapi contains the wire types of tags and branches of a table, and of cherry-picks from a branch. Begin with
// ref.go.
package refapi
