package transaction

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/protocol/transactionapi"
	"tiltyard/shared/storage/record"
)

// An EventState is the kind of an event.
type EventState string

// The states of events. Those of claims concern one run of one unit.
const (
	EventCreated       EventState = "created"
	EventClaim         EventState = "claim"          // a run took the unit
	EventClaimComplete EventState = "claim_complete" // the run ended without a failure; another one may follow
	EventClaimFailed   EventState = "claim_failed"   // the run failed; unless the unit ends, another one follows
	EventClaimLost     EventState = "claim_lost"     // the run ended together with its process
	EventStageBegin    EventState = "stage_begin"
	EventStageEnd      EventState = "stage_end"
	EventSplit         EventState = "split" // the stage runs in parts
	EventPaused        EventState = "paused"
	EventResumed       EventState = "resumed" // after a pause, or after it was set aside
	EventCancelled     EventState = "cancelled"
	EventSetAside      EventState = "set_aside"
	EventFailed        EventState = "failed"
	EventDone          EventState = "done"
	EventOmitted       EventState = "omitted" // stands for events that were left out, see [maxEvents]
)

// An Event is a change of the state of a job or a part. It is part of the record that contains the
// state, so the write that makes the change also records the event: exactly once, and without
// another request.
type Event struct {
	State   EventState `json:"state"`
	At      time.Time  `json:"at"`
	By      string     `json:"by,omitempty"`      // the run that made the change; "" for a request
	Stage   string     `json:"stage,omitempty"`   // "" before the first run
	Rows    int64      `json:"rows,omitempty"`    // see [Event.RowsProcessed]
	Message string     `json:"message,omitempty"` // such as the reason of a failure

	Unit Unit `json:"-"` // the unit of the record; set by [Store.Events]
}

const (
	// maxEvents bounds the events in a record. The first keptEvents and the last ones are kept.
	maxEvents  = 60
	keptEvents = 10
	// maxMessageBytes bounds the message of an event.
	maxMessageBytes = 1 << 10
	// eventBytes bounds the memory of an event, without its message.
	eventBytes = 256
)

// RowsProcessed returns the number of rows that a run processed. ok is true only for events that
// end a run.
func (e *Event) RowsProcessed() (rows int64, ok bool) {
	switch e.State {
	case EventClaimComplete, EventClaimFailed:
		return e.Rows, true
	}
	return 0, false
}

// End returns the event with which a job ended; ok is false if the job has not ended. A job that was set aside and resumed
// has several, of which End returns the last.
func (t *Transaction) End() (end Event, ok bool) {
	if t.Work == nil || !t.Status.Ended() {
		return end, false
	}
	for _, e := range slices.Backward(t.Work.Events) {
		switch e.State {
		case EventDone, EventCancelled, EventFailed, EventSetAside:
			return e, true
		}
	}
	return end, false
}

// observe appends the events between an earlier state of a record and the current one. was is nil
// for a new job.
func (t *Transaction) observe(was *Transaction, now time.Time) {
	if t.Work == nil {
		return
	}
	o := observer{was: was, is: t, at: now}
	if was == nil || was.Work == nil {
		o.was = &Transaction{Status: transactionapi.Queued, Work: &Work{}}
	}
	if was == nil {
		by := ""
		if t.Work.Revision != "" {
			by = "look" // a poll has found work
		}
		o.add(EventCreated, by, "")
	}
	o.claims()
	o.stages()
	o.requests()
	o.end()
}

// An observer compares two states of a record.
type observer struct {
	was, is *Transaction
	at      time.Time
}

func (o *observer) add(state EventState, by string, message string) {
	o.append(Event{State: state, At: o.at, By: by, Stage: o.is.Work.Stage, Message: message})
}

// append adds an event to the record. Above maxEvents it drops the oldest one after the first
// keptEvents.
func (o *observer) append(e Event) {
	e.Message = cut(e.Message, maxMessageBytes)
	w := o.is.Work
	w.Events = append(slices.Clip(w.Events), e)
	if len(w.Events) <= maxEvents {
		return
	}
	w.Events = slices.Delete(w.Events, keptEvents, keptEvents+1)
	w.EventsOmitted++
}

// claims records the crash of a run and the begin of another one.
func (o *observer) claims() {
	was, is := o.was.Work, o.is.Work
	if is.Deaths > was.Deaths {
		o.add(EventClaimLost, was.Holder, "")
	}
	if is.Holder != was.Holder && is.Holder != "" {
		// The rows so far; the end event subtracts them from its own.
		o.append(Event{State: EventClaim, At: o.at, By: is.Holder, Stage: is.Stage, Rows: o.is.Rows})
	}
}

// stages records the steps of a job from stage to stage.
func (o *observer) stages() {
	was, is := o.was.Work, o.is.Work
	by := is.by(was)
	if is.Stage != was.Stage {
		before := was.Stage
		if before == "" {
			// The first record with the name of the first stage may be written at the end of the stage.
			first := is.Stage
			for name := range is.Results {
				first, before = name, name
			}
			begin := Event{State: EventStageBegin, At: o.at, By: by, Stage: first}
			if claim := is.lastClaim(); claim != nil {
				begin.At = claim.At
			}
			o.append(begin)
		}
		if before != "" {
			o.append(Event{State: EventStageEnd, At: o.at, By: by, Stage: before})
			o.add(EventStageBegin, by, "")
		}
	}
	if is.Parts > 0 && is.Parts != was.Parts {
		o.add(EventSplit, by, fmt.Sprintf("%d parts", is.Parts))
	}
}

// requests records pauses and resumptions by users.
func (o *observer) requests() {
	was, is := o.was.Work, o.is.Work
	if is.Paused && !was.Paused {
		o.add(EventPaused, "", "")
	}
	if was.Paused && !is.Paused || was.SetAside && !is.SetAside {
		o.add(EventResumed, "", "")
	}
}

// end records the end of a run that ends its lease, and the end of the unit.
func (o *observer) end() {
	was, is := o.was.Work, o.is.Work
	ended := o.is.Status.Ended() && o.is.Status != o.was.Status
	if was.Holder != "" && is.Holder == "" && is.Deaths == was.Deaths && !is.SetAside {
		e := Event{State: EventClaimComplete, At: o.at, By: was.Holder, Stage: is.Stage, Rows: o.is.Rows}
		if claim := is.lastClaim(); claim != nil {
			e.Rows = max(e.Rows-claim.Rows, 0)
		}
		if is.Failures > was.Failures {
			e.State, e.Message = EventClaimFailed, is.Trouble
		}
		o.append(e)
	}
	if !ended {
		return
	}
	by := is.by(was)
	if by == "" && o.is.Failure != o.was.Failure {
		by = "worker" // another worker ended the unit, for example because a part of the job failed
	}
	switch {
	case o.is.isSetAside():
		o.add(EventSetAside, by, o.is.Failure)
	case o.is.Status == transactionapi.Succeeded:
		if is.Stage != "" {
			o.add(EventStageEnd, by, "")
		}
		o.add(EventDone, by, "")
	case o.is.Status == transactionapi.Canceled:
		o.add(EventCancelled, "", "")
	default:
		o.add(EventFailed, by, o.is.Failure)
	}
}

// by returns the run that made a change: the current lease holder, or else the previous one.
func (w *Work) by(was *Work) string {
	if w.Holder != "" {
		return w.Holder
	}
	return was.Holder
}

// lastClaim returns the event of the newest claim, nil if there is none.
func (w *Work) lastClaim() *Event {
	for i := len(w.Events) - 1; i >= 0; i-- {
		if w.Events[i].State == EventClaim {
			return &w.Events[i]
		}
	}
	return nil
}

// cut shortens a text to at most the given number of bytes, at the boundary of a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Events returns the events of a job and its parts, ordered by time. Parts cost one listing for
// each stage of the job.
func (s *Store) Events(ctx context.Context, job *Transaction) ([]Event, error) {
	if job.Work == nil {
		return nil, nil
	}
	events, err := eventsOf(ctx, nil, job, Unit{Job: job.ID})
	if err != nil {
		return nil, err
	}
	for _, stage := range job.Work.stages() {
		err := s.eachPart(ctx, Unit{Job: job.ID}, stage, func(part Unit, r record.Record) error {
			t, err := decode(Ref{Unit: part}, r)
			if err == nil {
				events, err = eventsOf(ctx, events, t, part)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	// Events of one record are in order already, and a stable sort keeps them so.
	slices.SortStableFunc(events, func(a, b Event) int { return a.At.Compare(b.At) })
	return events, nil
}

// stages returns the names of the begun stages that may have parts.
func (w *Work) stages() []string {
	var names []string
	for name, result := range w.Results {
		var parts int
		if json.Unmarshal(result, &parts) == nil && parts > 0 { // the result of a stage with parts is their number
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if w.Parts > 0 {
		names = append(names, w.Stage)
	}
	return names
}

// eventsOf appends the events of a record, for which it reserves memory.
func eventsOf(ctx context.Context, events []Event, t *Transaction, unit Unit) ([]Event, error) {
	if t.Work == nil {
		return events, nil
	}
	var held int64
	for _, e := range t.Work.Events {
		held += eventBytes + int64(len(e.Message))
	}
	if _, err := memory.Take(ctx, held); err != nil {
		return nil, err
	}
	for i, e := range t.Work.Events {
		e.Unit = unit
		if unit.Part != 0 {
			e.Stage = unit.Stage
		}
		// Show the gap between the first events and the last ones.
		if i == keptEvents && t.Work.EventsOmitted > 0 {
			left := fmt.Sprintf("%d events are left out here", t.Work.EventsOmitted)
			events = append(events, Event{State: EventOmitted, At: e.At, Stage: e.Stage, Message: left, Unit: unit})
		}
		events = append(events, e)
	}
	return events, nil
}
