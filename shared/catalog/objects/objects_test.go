package objects_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"tiltyard/shared/catalog/objects"
	"tiltyard/shared/storage/objectstore"
	"tiltyard/shared/storage/objectstore/faultstore"
	"tiltyard/shared/storage/objectstore/memstore"
)

// thing is an object with a mark.
type thing struct {
	UID  string `json:"uid"`
	Text string `json:"text"`
	Set  bool   `json:"set,omitempty"`
}

func (t *thing) Marked() bool { return t.Set }

func TestListsShowMarks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := objects.Store{Store: memstore.New()}
		want := thing{UID: "u", Text: rapid.String().Draw(rt, "text"), Set: rapid.Bool().Draw(rt, "set")}
		if _, err := s.Write(t.Context(), "k", &want, objectstore.Condition{}); err != nil {
			rt.Fatal(err)
		}
		page, err := s.List(t.Context(), objectstore.ListOptions{Limit: 1})
		if err != nil || objects.Marked(page.Objects[0]) != want.Set {
			rt.Fatalf("listed as %+v, %v; marked should be %v", page.Objects, err, want.Set)
		}
	})
}

func TestMissingObjectIsNoError(t *testing.T) {
	s := objects.Store{Store: memstore.New()}
	if etag, found, err := s.Find(t.Context(), "k", new(thing)); found || etag != "" || err != nil {
		t.Errorf("Find = %q, %v, %v", etag, found, err)
	}
	if _, err := s.Read(t.Context(), "k", new(thing)); !errors.Is(err, objectstore.ErrNotExist) {
		t.Errorf("Read: %v", err)
	}
	if there, err := s.Exists(t.Context(), "k"); there || err != nil {
		t.Errorf("Exists = %v, %v", there, err)
	}
}

func TestMalformedObjectIsAnError(t *testing.T) {
	s := objects.Store{Store: memstore.New()}
	if _, err := s.Put(t.Context(), "k", []byte(`{"uid":`), objectstore.Condition{}); err != nil {
		t.Fatal(err)
	}
	if _, found, err := s.Find(t.Context(), "k", new(thing)); found || err == nil {
		t.Errorf("Find = %v, %v, want an error", found, err)
	}
}

// A write without an answer is looked up, and its outcome is one of three: it happened, it cannot
// happen any more, or it may still happen.
func TestOutcomeOfLostAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		fault   faultstore.Fault
		between func(objects.Store) // what another process does before the object is read back
		want    error
	}{
		"the write happened":   {fault: faultstore.Fault{Lost: true}},
		"it may still happen":  {fault: faultstore.Fault{Err: objectstore.ErrUnknownOutcome}, want: objectstore.ErrUnknownOutcome},
		"another one happened": {fault: faultstore.Fault{Err: objectstore.ErrUnknownOutcome}, between: change(t), want: objectstore.ErrPrecondition},
	} {
		t.Run(name, func(t *testing.T) {
			inner := objects.Store{Store: memstore.New()}
			etag, err := inner.Write(t.Context(), "k", &thing{UID: "1"}, objectstore.Condition{IfAbsent: true})
			if err != nil {
				t.Fatal(err)
			}
			faulty := faultstore.New(inner.Store, func(call faultstore.Call) faultstore.Fault {
				if call.Kind != faultstore.PutIfMatch {
					return faultstore.Fault{}
				}
				if test.between != nil {
					test.between(inner)
				}
				return test.fault
			})
			_, err = objects.Store{Store: faulty}.Write(t.Context(), "k", &thing{UID: "1", Text: "new"}, objectstore.Condition{IfMatch: etag})
			if !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func change(t *testing.T) func(objects.Store) {
	return func(s objects.Store) {
		if _, err := s.Write(t.Context(), "k", &thing{UID: "1", Text: "other"}, objectstore.Condition{}); err != nil {
			t.Error(err)
		}
	}
}

// Remove must not take the deletion of another object, or of a changed one, for its own.
func TestRemoveKeepsWhatChanged(t *testing.T) {
	s := objects.Store{Store: memstore.New()}
	etag, err := s.Write(t.Context(), "k", &thing{UID: "1"}, objectstore.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	change(t)(s)
	if err := s.Remove(t.Context(), "k", "1", etag); !objects.Changed(err) {
		t.Errorf("Remove of a changed object: %v", err)
	}
	if err := s.Remove(t.Context(), "none", "1", etag); !objects.Changed(err) {
		t.Errorf("Remove of no object: %v", err)
	}
}
