package protocol

import "encoding/json"

// transactionOperations are the rows of the operations on transactions.
var transactionOperations = []Operation{
	{
		Name: "DescribeTransaction", Methods: post, Path: "/v1/transaction/{id}/describe", Group: GroupTransaction, Access: Read, Origin: Spec,
		Request: new(DescribeTransactionRequest), Response: new(TransactionResponse), Summary: "Describe a transaction",
	},
	{
		Name: "AlterTransaction", Methods: post, Path: "/v1/transaction/{id}/alter", Group: GroupTransaction, Access: Write, Origin: Spec,
		Request: new(AlterTransactionRequest), Response: new(TransactionResponse), Summary: "Change a transaction",
		LeastBody: `{"actions":[{}]}`,
	},
}

// TransactionStatus is how far a transaction has come.
type TransactionStatus uint8

// The statuses; the first means that a request names none.
const (
	TransactionUnset     TransactionStatus = iota
	TransactionQueued                      // not yet started
	TransactionRunning                     //
	TransactionSucceeded                   // these three have ended
	TransactionFailed                      //
	TransactionCanceled                    //
)

var transactionStatuses = NewEnum("status", "", "Queued", "Running", "Succeeded", "Failed", "Canceled")

// String returns the PascalCase spelling.
func (s TransactionStatus) String() string { return transactionStatuses.Text(uint8(s)) }

// MarshalText returns what String returns, and an error for an unknown value.
func (s TransactionStatus) MarshalText() ([]byte, error) {
	return transactionStatuses.Marshal(uint8(s))
}

// UnmarshalText accepts PascalCase and snake_case in any case.
func (s *TransactionStatus) UnmarshalText(text []byte) error {
	return transactionStatuses.Parse(text, (*uint8)(s))
}

// Ended reports whether a transaction of that status is over.
func (s TransactionStatus) Ended() bool {
	return s == TransactionSucceeded || s == TransactionFailed || s == TransactionCanceled
}

// SetPropertyMode is what setting a property does when there is one of that key.
type SetPropertyMode uint8

// The modes; the first is the default.
const (
	SetPropertyOverwrite SetPropertyMode = iota
	SetPropertyFail                      // fail the whole request
	SetPropertySkip                      // keep what is there
)

var setPropertyModes = NewEnum("setPropertyAction.mode", "Overwrite", "Fail", "Skip")

// String returns the PascalCase spelling.
func (m SetPropertyMode) String() string { return setPropertyModes.Text(uint8(m)) }

// MarshalText returns what String returns, and an error for an unknown value.
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

var unsetPropertyModes = NewEnum("unsetPropertyAction.mode", "Skip", "Fail")

// String returns the PascalCase spelling.
func (m UnsetPropertyMode) String() string { return unsetPropertyModes.Text(uint8(m)) }

// MarshalText returns what String returns, and an error for an unknown value.
func (m UnsetPropertyMode) MarshalText() ([]byte, error) { return unsetPropertyModes.Marshal(uint8(m)) }

// UnmarshalText accepts PascalCase and snake_case in any case.
func (m *UnsetPropertyMode) UnmarshalText(text []byte) error {
	return unsetPropertyModes.Parse(text, (*uint8)(m))
}

// DescribeTransactionRequest asks how a transaction stands. The last component of the id
// is the transaction; its table may stand in front.
type DescribeTransactionRequest struct {
	Common
}

// TransactionResponse has the state of a transaction, after the change if the request asked for one.
type TransactionResponse struct {
	Status     TransactionStatus `json:"status"`
	Properties Properties        `json:"properties"`
}

// MaxTransactionActions is how many actions one request may hold.
const MaxTransactionActions = 100

// AlterTransactionRequest asks for changes, all of which are made, one after the other, or
// none.
type AlterTransactionRequest struct {
	Common
	Actions []TransactionAction `json:"actions"`
}

// Validate refuses a request without actions, with too many, and those that miss something.
func (r *AlterTransactionRequest) Validate() error {
	if len(r.Actions) == 0 {
		return Errorf(InvalidInput, "actions is required and must not be empty")
	}
	if len(r.Actions) > MaxTransactionActions {
		return Errorf(InvalidInput, "actions holds %d entries; at most %d are possible", len(r.Actions), MaxTransactionActions)
	}
	for _, action := range r.Actions {
		if err := action.validate(); err != nil {
			return err
		}
	}
	return nil
}

// TransactionAction is one change. One that holds several is applied in the order of the
// fields; one that holds none, as a native client sends it by mistake, does nothing.
type TransactionAction struct {
	SetStatus     *SetStatusAction     `json:"setStatusAction"`
	SetProperty   *SetPropertyAction   `json:"setPropertyAction"`
	UnsetProperty *UnsetPropertyAction `json:"unsetPropertyAction"`
}

// SetStatusAction changes the status, whatever it was.
type SetStatusAction struct {
	Status TransactionStatus `json:"status"`
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
func (a *TransactionAction) UnmarshalJSON(data []byte) error {
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
	*a = TransactionAction{wire.SetStatus, wire.SetProperty, wire.UnsetProperty}
	twice := false
	twice = either(&a.SetStatus, wire.SetStatus2) || twice
	twice = either(&a.SetProperty, wire.SetProperty2) || twice
	twice = either(&a.UnsetProperty, wire.UnsetProperty2) || twice
	if twice {
		return Errorf(InvalidInput, "an action holds the same field in two spellings")
	}
	return nil
}

// either takes the other spelling of a field, and reports whether the request has both.
func either[T any](field **T, other *T) (twice bool) {
	if other == nil {
		return false
	}
	twice = *field != nil
	*field = other
	return twice
}

func (a TransactionAction) validate() error {
	if s := a.SetStatus; s != nil && s.Status == TransactionUnset {
		return Errorf(InvalidInput, "setStatusAction.status is required; accepted values: Queued, Running, Succeeded, Failed, Canceled")
	}
	if s := a.SetProperty; s != nil {
		if s.Value == nil {
			return Errorf(InvalidInput, "setPropertyAction.value is required")
		}
		if err := CheckProperties(map[string]string{s.Key: *s.Value}); err != nil {
			return err
		}
	}
	if u := a.UnsetProperty; u != nil {
		return requireText("unsetPropertyAction.key", u.Key)
	}
	return nil
}
