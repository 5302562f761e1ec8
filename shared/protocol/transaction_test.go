package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tiltyard/shared/protocol"
)

func TestTransactionActions(t *testing.T) {
	for _, text := range []string{
		`{"actions":[{}]}`,
		`{"actions":[{"setStatusAction":{"status":"succeeded"}}]}`,
		`{"actions":[{"set_property_action":{"key":"a","value":"","mode":"SKIP"}}]}`,
		`{"actions":[{"setStatusAction":{"status":"Queued"},"set_property_action":{"key":"a","value":"1"},"unsetPropertyAction":{"key":"b","mode":"fail"}}]}`,
		`{"actions":[` + strings.Repeat(`{},`, protocol.MaxTransactionActions-1) + `{}]}`,
	} {
		var req protocol.AlterTransactionRequest
		if err := json.Unmarshal([]byte(text), &req); err != nil {
			t.Errorf("%.100s: %v", text, err)
		} else if err := req.Validate(); err != nil {
			t.Errorf("%.100s: %v", text, err)
		}
	}
	for _, text := range []string{
		`{}`,
		`{"actions":[]}`,
		`{"actions":[` + strings.Repeat(`{},`, protocol.MaxTransactionActions) + `{}]}`,
		`{"actions":[{"setStatusAction":{}}]}`,
		`{"actions":[{"setStatusAction":{"status":""}}]}`,
		`{"actions":[{"setStatusAction":{"status":"cancelled"}}]}`,
		`{"actions":[{"setStatusAction":{"status":"Failed"},"set_status_action":{"status":"Failed"}}]}`,
		`{"actions":[{"setPropertyAction":{"value":"1"}}]}`,
		`{"actions":[{"setPropertyAction":{"key":"a"}}]}`,
		`{"actions":[{"setPropertyAction":{"key":"a","value":"1","mode":"Replace"}}]}`,
		`{"actions":[{"setPropertyAction":{"key":"a","value":"` + strings.Repeat("v", protocol.MaxPropertyBytes+1) + `"}}]}`,
		`{"actions":[{"unsetPropertyAction":{"mode":"Skip"}}]}`,
		`{"actions":[{},{"unsetPropertyAction":{"key":"a","mode":"Overwrite"}}]}`,
	} {
		var req protocol.AlterTransactionRequest
		err := json.Unmarshal([]byte(text), &req)
		if err == nil {
			err = req.Validate()
		}
		if err == nil || protocol.CodeOf(err) != protocol.InvalidInput {
			t.Errorf("%.100s: got %v, want InvalidInput", text, err)
		}
	}
}

func TestTransactionStatusesInAnySpelling(t *testing.T) {
	for text, want := range map[string]protocol.TransactionStatus{
		"Queued": protocol.TransactionQueued, "RUNNING": protocol.TransactionRunning, "succeeded": protocol.TransactionSucceeded, "fAILED": protocol.TransactionFailed, "canceled": protocol.TransactionCanceled,
	} {
		var got protocol.TransactionStatus
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
		if got.Ended() != (want >= protocol.TransactionSucceeded) {
			t.Errorf("%v has ended: got %v, want %v", got, got.Ended(), want >= protocol.TransactionSucceeded)
		}
	}
	answer, err := json.Marshal(protocol.TransactionResponse{Status: protocol.TransactionCanceled})
	if want := `{"status":"Canceled","properties":{}}`; err != nil || string(answer) != want {
		t.Errorf("an answer is %s, %v; want %s", answer, err, want)
	}
}
