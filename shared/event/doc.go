// Package event keeps an outbox: a log of what has changed, in the storage of the catalog, to which each
// change is written exactly once.
//
// # Where events come from
//
// Nothing is written before a commit, and no commit waits for the log. What has happened to an object is in
// its records and versions, and an [Outbox] keeps, for each object, a mark that says how much of that has been
// announced. Whoever looks at the object compares the two and announces the rest ([Outbox.Announce]). A
// process suggests a look after a change. If it dies before that, a regular look at all objects finds the
// change. Many processes may look at the same object at the same time.
//
// # The log
//
// The log is a sequence of entries, each an object that holds the events of one batch:
//
//	_events/log/<2^64-1 minus position, 16 digits>    {"batch": …, "key": …, "events": […]}
//	_events/start                                     {"since": …, "expired": …}
//
// Positions begin with 1. An entry is put if absent, so it never changes, and only at a position whose
// predecessor its writer has seen. So the positions have no gaps, and no entry ever appears before one that is
// there already: a reader that continues after the last entry that it has seen misses none. The keys sort the
// newest first, so that one LIST finds the end. Old entries are deleted ([Outbox.Expire]); start holds the last
// position that may be deleted, and is written before the deletion.
//
// # Exactly once
//
// The record of an object holds the mark, and the batch of events that led to it, with the position at which
// the batch belongs into the log:
//
//	{"mark": …, "batch": …, "position": …, "events": […]}
//
// A writer announces events in two writes:
//
//  1. It replaces the record, on condition that nobody else has (record.Store), by one with the next mark, the
//     new batch, and the position after the end of the log.
//  2. It puts the entry at the position, if absent.
//
// Before anyone replaces a record that has a batch, he makes sure of the second write. He reads the entry at
// the position. If it is that of the batch, the batch is in the log. If there is none, he puts it. If it is
// that of another batch, he first replaces the record by one with the position after the present end, and puts
// the entry there.
//
// A batch is in the log at most once: an entry of it can only be at a position that the record names or has
// named, and the record names another position only after the former one was seen to be taken by another
// batch, for good. A batch is in the log at least once before the mark moves on, because the record with the
// next batch is written only by a process that has seen the entry of this one. The mark and the batch are in
// the same write, so that no event is in two batches and none is in no batch. A process that dies, or whose
// answers are lost, leaves a record from which the next one continues.
//
// The log forgets entries, but a record may name a position for longer. Therefore [Outbox.Expire] first takes the
// batch out of the record whose entry it deletes. A position that is expired and still named then never held
// that batch; or somebody else has deleted the entry, and the batch is announced once more. One thing rests on
// time: a process must not put an entry that it prepared more than [MinRetention] ago. No run lasts that long.
package event
