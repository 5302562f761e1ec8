// Package versionapi holds the wire types of versions of tables: list, describe, create, delete, restore and
// compare them, and change many tables at once (batch.go). Begin with version.go.
package versionapi
