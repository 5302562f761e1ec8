// Package events documents the packages that publish changes of the catalog and of tables.
//
// Package changefeed turns a change, for example version 7 of a table, into events exactly once,
// whoever made the change: this program, another process, or a native Lance client that wrote to
// the bucket. Package outbox stores the events as objects in order, and readers page through them
// with a cursor. Package outbox/forward sends them to webhooks, SQS queues and EventBridge buses.
//
// Begin with outbox/log.go, which describes the format of the log.
package events
