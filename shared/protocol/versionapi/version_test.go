package versionapi_test

import (
	"encoding/json"
	"testing"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/versionapi"
)

func TestVersionRequestsAreChecked(t *testing.T) {
	type request interface {
		protocol.Request
		Validate() error
	}
	const entry = `"id": ["n", "t"], "version": 2, "manifest_path": "x"`
	for _, test := range []struct {
		req  request
		body string
		ok   bool
	}{
		{new(versionapi.CreateRequest), `{` + entry + `, "manifest_size": 7, "e_tag": "\"x\"", "metadata": {}, "naming_scheme": "V2"}`, true},
		{new(versionapi.CreateRequest), `{` + entry + `, "naming_scheme": "v1", "manifest_size": null}`, true},
		{new(versionapi.CreateRequest), `{` + entry + `, "naming_scheme": "V3"}`, false},
		{new(versionapi.CreateRequest), `{` + entry + `, "manifest_size": -1}`, false},
		{new(versionapi.CreateRequest), `{"version": 0, "manifest_path": "x"}`, false},
		{new(versionapi.CreateRequest), `{"manifest_path": "x"}`, false},
		{new(versionapi.CreateRequest), `{"version": 2}`, false},
		{new(versionapi.BatchDeleteRequest), `{"ranges": [{"start_version": 0, "end_version": -1}]}`, true},
		{new(versionapi.BatchDeleteRequest), `{"ranges": [{"start_version": 5, "end_version": 3}]}`, true},
		{new(versionapi.BatchDeleteRequest), `{"ranges": [{"start_version": 0, "end_version": -2}]}`, false},
		{new(versionapi.BatchDeleteRequest), `{"ranges": [{"end_version": 2}]}`, false},
		{new(versionapi.BatchDeleteRequest), `{}`, false},
		{new(versionapi.BatchCreateRequest), `{"entries": [{` + entry + `}]}`, true},
		{new(versionapi.BatchCreateRequest), `{"entries": [{` + entry + `}, {"version": 2, "manifest_path": "x"}]}`, false},
		{new(versionapi.BatchCreateRequest), `{"entries": [{"id": ["a$b"], "version": 2}]}`, false},
		{new(versionapi.BatchCreateRequest), `{"entries": []}`, false},
	} {
		err := json.Unmarshal([]byte(test.body), test.req)
		if err == nil {
			err = test.req.Validate()
		}
		if (err == nil) != test.ok {
			t.Errorf("%T %s: got %v, want accepted: %v", test.req, test.body, err, test.ok)
		}
	}
}

func TestVersionRangesHoldTheirStartAndNotTheirEnd(t *testing.T) {
	for _, test := range []struct {
		start, end int64
		version    uint64
		want       bool
	}{
		{2, 4, 1, false}, {2, 4, 2, true}, {2, 4, 3, true}, {2, 4, 4, false},
		{2, -1, 1, false}, {2, -1, 1 << 62, true}, {0, 0, 0, false}, {4, 2, 3, false},
	} {
		r := versionapi.Range{Start: &test.start, End: &test.end}
		if got := r.Holds(test.version); got != test.want {
			t.Errorf("%d to %d holds %d: got %v, want %v", test.start, test.end, test.version, got, test.want)
		}
		if got, want := r.All(), test.start == 0 && test.end == -1; got != want {
			t.Errorf("%d to %d is all: got %v, want %v", test.start, test.end, got, want)
		}
	}
}
