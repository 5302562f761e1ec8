// Package transactionapi contains the wire types of transactions: their statuses and properties, and the actions that
// change them. Begin with transaction.go.
package transactionapi
