package transactionapi

import (
	"encoding/json"

	"tiltyard/shared/protocol"
)

// Operations are the rows of the operations on transactions.
var Operations = []protocol.Operation{
	{
		Name: "DescribeTransaction", Methods: protocol.ByPost, Path: "/v1/transaction/{id}/describe", Group: protocol.GroupTransaction, Access: protocol.Read, Origin: protocol.Spec,
		Request: new(DescribeRequest), Response: new(Response), Summary: "Describe a transaction",
	},
	{
		Name: "AlterTransaction", Methods: protocol.ByPost, Path: "/v1/transaction/{id}/alter", Group: protocol.GroupTransaction, Access: protocol.Write, Origin: protocol.Spec,
		Request: new(AlterRequest), Response: new(Response), Summary: "Change a transaction",
		LeastBody: `{"actions":[{}]}`,
	},
}

// Status is how far a transaction has come.
type Status uint8

// The statuses; the first means that a request names none.
const (
	Unset     Status = iota
	Queued           // not yet started
	Running          //
	Succeeded        // these three have ended
	Failed           //
	Canceled         //
)

var statuses = protocol.NewEnum("status", "", "Queued", "Running", "Succeeded", "Failed", "Canceled")

// String returns the PascalCase spelling.
func (s Status) String() string { return statuses.Text(uint8(s)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (s Status) MarshalText() ([]byte, error) {
	return statuses.Marshal(uint8(s))
}

// UnmarshalText accepts PascalCase and snake_case in any case.
func (s *Status) UnmarshalText(text []byte) error {
	return statuses.Parse(text, (*uint8)(s))
}

// Ended reports whether a transaction of that status is over.
func (s Status) Ended() bool {
	return s == Succeeded || s == Failed || s == Canceled
}

// SetPropertyMode is what setting a property does when there is one of that key.
type SetPropertyMode uint8

// The modes; the first is the default.
const (
	SetPropertyOverwrite SetPropertyMode = iota
	SetPropertyFail                      // fail the whole request
	SetPropertySkip                      // keep what is there
)

var setPropertyModes = protocol.NewEnum("setPropertyAction.mode", "Overwrite", "Fail", "Skip")

// String returns the PascalCase spelling.
func (m SetPropertyMode) String() string { return setPropertyModes.Text(uint8(m)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (m SetPropertyMode) MarshalText() ([]byte, error) { return setPropertyModes.Marshal(uint8(m)) }

// UnmarshalText accepts PascalCase and snake_case in any case.
func (m *SetPropertyMode) UnmarshalText(text []byte) error {
	return setPropertyModes.Parse(text, (*uint8)(m))
}

// UnsetPropertyMode is what unsetting a property does when there is none of that key.
type UnsetPropertyMode uint8

// The modes; the first is the default.
const (
	UnsetPropertySkip UnsetPropertyMode = iota // nothing
	UnsetPropertyFail                          // fail the whole request
)

var unsetPropertyModes = protocol.NewEnum("unsetPropertyAction.mode", "Skip", "Fail")

// String returns the PascalCase spelling.
func (m UnsetPropertyMode) String() string { return unsetPropertyModes.Text(uint8(m)) }

// MarshalText writes the same text as String. The error is for an unknown value.
func (m UnsetPropertyMode) MarshalText() ([]byte, error) { return unsetPropertyModes.Marshal(uint8(m)) }

// UnmarshalText accepts PascalCase and snake_case in any case.
func (m *UnsetPropertyMode) UnmarshalText(text []byte) error {
	return unsetPropertyModes.Parse(text, (*uint8)(m))
}

// DescribeRequest asks how a transaction stands. The last component of the id
// is the transaction; its table may stand in front.
type DescribeRequest struct {
	protocol.Common
}

// Response has the state of a transaction, after the change if the request asked for one.
type Response struct {
	Status     Status              `json:"status"`
	Properties protocol.Properties `json:"properties"`
}

// MaxActions bounds the number of actions in a request.
const MaxActions = 100

// AlterRequest asks for changes, all of which are made, one after the other, or
// none.
type AlterRequest struct {
	protocol.Common
	Actions []Action `json:"actions"`
}

// Validate requires 1 to MaxActions actions, each with its required fields.
func (r *AlterRequest) Validate() error {
	if len(r.Actions) == 0 {
		return protocol.Errorf(protocol.InvalidInput, "actions is required and must not be empty")
	}
	if len(r.Actions) > MaxActions {
		return protocol.Errorf(protocol.InvalidInput, "actions holds %d entries; at most %d are possible", len(r.Actions), MaxActions)
	}
	for _, action := range r.Actions {
		if err := action.validate(); err != nil {
			return err
		}
	}
	return nil
}

// Action is one change. One that holds several is applied in the order of the
// fields; one that holds none, as a native client sends it by mistake, does nothing.
type Action struct {
	SetStatus     *SetStatusAction     `json:"setStatusAction"`
	SetProperty   *SetPropertyAction   `json:"setPropertyAction"`
	UnsetProperty *UnsetPropertyAction `json:"unsetPropertyAction"`
}

// SetStatusAction changes the status, whatever it was.
type SetStatusAction struct {
	Status Status `json:"status"`
}

// SetPropertyAction sets a property.
type SetPropertyAction struct {
	Key   string          `json:"key"`
	Value *string         `json:"value"`
	Mode  SetPropertyMode `json:"mode"`
}

// UnsetPropertyAction removes a property.
type UnsetPropertyAction struct {
	Key  string            `json:"key"`
	Mode UnsetPropertyMode `json:"mode"`
}

// UnmarshalJSON reads the names of the fields in both spellings.
func (a *Action) UnmarshalJSON(data []byte) error {
	var wire struct {
		SetStatus      *SetStatusAction     `json:"setStatusAction"`
		SetProperty    *SetPropertyAction   `json:"setPropertyAction"`
		UnsetProperty  *UnsetPropertyAction `json:"unsetPropertyAction"`
		SetStatus2     *SetStatusAction     `json:"set_status_action"`
		SetProperty2   *SetPropertyAction   `json:"set_property_action"`
		UnsetProperty2 *UnsetPropertyAction `json:"unset_property_action"`
	}
	if err := json.Unmarshal(data, &wire); err != nil {
		return err
	}
	*a = Action{wire.SetStatus, wire.SetProperty, wire.UnsetProperty}
	twice := false
	twice = either(&a.SetStatus, wire.SetStatus2) || twice
	twice = either(&a.SetProperty, wire.SetProperty2) || twice
	twice = either(&a.UnsetProperty, wire.UnsetProperty2) || twice
	if twice {
		return protocol.Errorf(protocol.InvalidInput, "an action holds the same field in two spellings")
	}
	return nil
}

// either sets a field from its other spelling, and reports whether the request has both.
func either[T any](field **T, other *T) (twice bool) {
	if other == nil {
		return false
	}
	twice = *field != nil
	*field = other
	return twice
}

// validate checks the required fields of an action.
func (a Action) validate() error {
	if s := a.SetStatus; s != nil && s.Status == Unset {
		return protocol.Errorf(protocol.InvalidInput, "setStatusAction.status is required; accepted values: Queued, Running, Succeeded, Failed, Canceled")
	}
	if s := a.SetProperty; s != nil {
		if s.Value == nil {
			return protocol.Errorf(protocol.InvalidInput, "setPropertyAction.value is required")
		}
		if err := protocol.CheckProperties(map[string]string{s.Key: *s.Value}); err != nil {
			return err
		}
	}
	if u := a.UnsetProperty; u != nil {
		return protocol.RequireText("unsetPropertyAction.key", u.Key)
	}
	return nil
}
