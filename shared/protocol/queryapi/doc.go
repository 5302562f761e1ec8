// Package queryapi contains the wire types of the operations that read rows: queries by filter, vector and text, counts,
// plans, blobs and stored results. Their JSON, which has several forms, is in json.go and fulltext.go. Begin with
// query.go.
package queryapi
