// Package outbox implements an outbox: a log of changes, in the storage of the catalog, to which each change is written
// exactly once.
//
// # Where events come from
//
// Nothing is written before a commit, and no commit waits for the log. The records and versions of an object contain its
// history, and an [Outbox] keeps a mark for each object: the point up to which that history was announced. A process that
// looks at the object compares the two and announces the rest ([Outbox.Announce]). After a change, a process schedules a
// poll. If it dies before that, a regular poll of all objects finds the change. Many processes may look at the same object
// at the same time.
//
// # The log
//
// The log is a sequence of entries, each an object with the events of one batch:
//
//	_events/log/<2^64-1 minus position, 16 digits>    {"batch": …, "key": …, "events": […]}
//	_events/start                                     {"since": …, "expired": …}
//
// Positions begin with 1. An entry is put if absent, so it never changes, and only at a position whose predecessor its
// writer has seen. So the positions have no gaps, and no entry ever appears before an existing one: a reader that
// continues after the last entry that it has seen misses none. The keys sort the newest first, so that one LIST finds the
// end. Old entries are deleted ([Outbox.Expire]); start contains the last position that may be deleted, and is written
// before the deletion.
//
// # Exactly once
//
// The record of an object contains the mark, and the batch of events that led to it, with the batch's position in the log:
//
//	{"mark": …, "batch": …, "position": …, "events": […]}
//
// A writer announces events in two writes:
//
//  1. It replaces the record, if that is unchanged (record.Store), by one with the next mark, the new batch, and
//     the position after the end of the log.
//  2. It puts the entry at the position, if absent.
//
// Before a process replaces a record with a batch, it ensures that the second write was done. It reads the entry at the
// position. If the entry has the batch, the batch is in the log. If there is no entry, the process puts it. If the entry
// has another batch, the process first replaces the record by one with the position after the current end, and puts the
// entry there.
//
// A batch is in the log at most once: an entry with it can only be at a position that the record has or had, and the
// record gets another position only after another batch was found at the former one, which is final. A batch is in the log
// at least once before the mark advances, because the record with the next batch is written only by a process that has
// seen the entry of this one. The mark and the batch are in the same write, so each event is in exactly one batch. A
// process that dies, or whose answers are lost, leaves a record from which the next one continues.
//
// Entries expire, but a record may refer to a position for longer. Therefore [Outbox.Expire] first removes the batch from
// the record whose entry it deletes. If a record still refers to an expired position, that position never had the batch,
// unless another program deleted the entry; then the batch is announced again. The protocol assumes that a process does
// not put an entry that it prepared more than [MinRetention] ago. No run lasts that long.
package outbox
