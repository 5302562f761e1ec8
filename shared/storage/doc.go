// Package storage documents the wing of objects and records, which are all that this program stores.
//
// Package objectstore has objects: large, immutable or replaced on a condition. S3, a directory and
// memory implement its interface, and one contract (objectstore/storetest) tests all of them. Package
// record has small values with compare-and-set, in DynamoDB or as objects. Package format decodes the
// JSON that this program stores, and refuses what a newer release wrote. Package cloud configures the
// clients of AWS, and outage has the error of a store in trouble.
//
// Begin with objectstore/store.go.
package storage
