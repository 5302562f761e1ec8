// Package versionapi contains the wire types of table versions: list, describe, create, delete, restore and compare them,
// and change many tables at once (batch.go). Begin with version.go.
package versionapi
