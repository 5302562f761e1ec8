// Package events documents the wing that publishes changes of the catalog and of tables.
//
// Package changefeed turns a change, for example version 7 of a table, into events exactly once, whoever
// made the change: this program, another process, or a native Lance client that wrote to the bucket.
// Package outbox keeps the events as objects in their order, which readers page through with a cursor.
// Package outbox/forward sends them to webhooks, SQS queues and EventBridge buses.
//
// Begin with outbox/log.go, the format of the log.
package events
