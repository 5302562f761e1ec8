package quota

import (
	"errors"
	"testing"
	"time"

	"tiltyard/shared/jobs/usage"
	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/operations"
)

// An operation that changes something either adds data or does not.
func TestEachOperationAddsDataOrDoesNot(t *testing.T) {
	left := map[string]bool{}
	for name := range adds {
		left[name] = true
	}
	for _, op := range operations.All {
		_, known := adds[op.Name]
		if changes := op.Access == protocol.Write || op.MayWrite; changes != known {
			t.Errorf("%s changes something: %t; the table has it: %t", op.Name, changes, known)
		}
		if op.Frees && Adds(op.Name) {
			t.Errorf("%s frees storage and adds data", op.Name)
		}
		delete(left, op.Name)
	}
	if len(left) > 0 {
		t.Errorf("there are no operations %v", left)
	}
}

// store notes the size of a table, and has the sums metered.
func (d *deployment) store(table, namespace string, bytes int64) {
	d.t.Helper()
	if err := errors.Join(usage.NoteStored(d.t.Context(), d.records.Store, d.now(), table, namespace, bytes), usage.SumStored(d.t.Context(), d.records.Store, d.now())); err != nil {
		d.t.Fatal(err)
	}
}

// add makes a request that adds data to tables in a namespace, or does not, and returns the header of its answer.
func (d *deployment) add(l *Limiter, adds bool, namespace ...string) (beyond *Exceeded, limit string) {
	d.t.Helper()
	a, err := l.Admit(d.t.Context(), of("acme"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer a.Done(Use{WrittenBytes: 1 << 40})
	if err = a.Enter(d.t.Context(), namespace, adds); err != nil && !errors.As(err, &beyond) {
		d.t.Fatal(err)
	}
	_, limit = a.Header()
	return beyond, limit
}

func (d *deployment) want(l *Limiter, admitted bool, namespace ...string) {
	d.t.Helper()
	if beyond, _ := d.add(l, true, namespace...); (beyond == nil) != admitted {
		d.t.Errorf("a request that adds data to %v: got %v, want it to be admitted: %t", namespace, beyond, admitted)
	}
	if beyond, limit := d.add(l, false, namespace...); beyond != nil || limit != "" {
		d.t.Errorf("a request that adds no data to %v: got %v %s", namespace, beyond, limit)
	}
}

func TestStoredBytes(t *testing.T) {
	d := newDeployment(t, `{"name": "each", "namespace": "*", "stored_bytes": 100}`, `{"name": "big", "namespace": "big", "stored_bytes": "1KiB"}`)
	one, other := d.process(), d.process()
	all := func(full, big bool) {
		t.Helper()
		for _, l := range []*Limiter{one, other} {
			d.want(l, !full, "full")
			d.want(l, !full, "full", "below")
			d.want(l, !big, "big")
			d.want(l, true, "calm")
			d.want(l, true) // the root
		}
	}
	all(false, false) // nothing is metered yet
	d.store("a", "full", 60)
	d.store("b", "full", 40)
	d.store("c", "big", 1023)
	d.store("d", "calm", 99)
	d.store("e", "", 1<<40)
	d.wait(time.Hour)
	d.store("e", "", 1<<40)
	all(true, false)
	beyond, limit := d.add(one, true, "full")
	if want := "the namespace full stores 100 bytes, and its quota each allows 100"; beyond.Error() != want || beyond.Seconds() != 0 || limit != `"each";r=0` {
		t.Errorf("got %q, %d, %s", beyond.Error(), beyond.Seconds(), limit)
	}
	if _, limit := d.add(one, true, "big", "below"); limit != `"big";r=1` {
		t.Errorf("got %s", limit)
	}
	d.store("b", "full", 39)
	d.store("c", "big", 1024)
	all(true, false) // until the sums are metered again
	d.wait(time.Hour)
	d.store("a", "full", 60)
	all(false, true)
}

// A process reads the bytes of a namespace once a minute, and only for requests that add data. Once a day it asks for them
// again.
func TestStoredBytesCostOneReadAMinute(t *testing.T) {
	d := newDeployment(t, `{"name": "each", "namespace": "*", "stored_bytes": 100}`)
	l := d.process()
	const minutes = 300
	for range minutes {
		for range 10 {
			d.want(l, true, "a")
			d.want(l, true)
			if beyond, _ := d.add(l, false, "b"); beyond != nil {
				t.Fatal(beyond)
			}
			d.wait(6 * time.Second)
		}
	}
	if want := minutes + 1; d.records.number != want {
		t.Errorf("%d requests to the records in %d minutes, want %d", d.records.number, minutes, want)
	}
}

// Bytes that cannot be read, or that nobody meters any more, refuse nobody.
func TestStoredBytesInTroubleRefuseNobody(t *testing.T) {
	d := newDeployment(t, `{"name": "each", "namespace": "*", "stored_bytes": 100}`)
	l := d.process()
	d.want(l, true, "a")
	d.store("a", "a", 100)
	d.wait(time.Minute)
	d.want(l, false, "a")
	d.records.down = true
	d.want(l, false, "a")
	d.wait(time.Minute)
	before := d.records.number
	d.want(l, true, "a")
	d.want(l, true, "a")
	if d.records.number != before+1 {
		t.Errorf("%d requests to records that do not answer, want one a minute", d.records.number-before)
	}
	d.records.down = false
	d.wait(time.Minute)
	d.want(l, false, "a")
	for range 3 {
		d.wait(20 * time.Hour)
		_, _ = d.add(l, true, "a")
	}
	d.want(l, true, "a")
}
