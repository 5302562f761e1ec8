// Package tableapi contains the wire types of tables as objects of the catalog: list, find, register, describe, rename,
// clone, drop and restore them, and measure and maintain them. Their rows are in dataapi and queryapi. Begin with
// table.go.
package tableapi
