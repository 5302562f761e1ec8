package transaction

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/transactionapi"
)

// A Change describes a request that is neither a job nor a commit of a table: a change of names,
// tags, branches, or several tables together. Its object may no longer exist afterwards, such as a
// dropped table, so its id contains the whole change and needs no record. Such an id proves
// nothing: an invented id describes an invented change.
type Change struct {
	Operation  string            `json:"operation"`            // such as "drop-table"
	Object     []string          `json:"object,omitempty"`     // the table or namespace
	Properties map[string]string `json:"properties,omitempty"` // such as the name of the tag
}

// OfChange returns the transaction of a change as it was made, without later alterations.
func OfChange(change Change, at time.Time) *Transaction {
	return &Transaction{
		Kind: change.Operation, Object: change.Object, Status: transactionapi.Succeeded, Created: at, Updated: at, Change: &change,
	}
}

// describe returns the properties of a change for clients, which cannot alter them.
func (c *Change) describe() map[string]string {
	shown := maps.Clone(c.Properties)
	if shown == nil {
		shown = map[string]string{}
	}
	shown["operation"] = c.Operation
	return shown
}

// IDOfChange returns the id of the transaction of a change that was just made. It writes a record
// only if the names are too long for an id. It never fails, because the change has been made: if
// that write fails, the id is "".
func (s *Store) IDOfChange(ctx context.Context, change Change) string {
	now := s.now().UTC()
	id, ok := ChangeID(change, now)
	if ok {
		return id
	}
	t := OfChange(change, now)
	ref := recordOf(id)
	if _, err := s.write(context.WithoutCancel(ctx), ref, t, "", now.Add(Retention)); err != nil {
		return ""
	}
	return ref.id()
}

// The id of a change consists of an x, 12 digits of milliseconds since 1970, 8 random digits, 8
// digits of a checksum of the rest, and the change in base64.
const (
	timeDigits  = 12
	otherDigits = 8
	changeHead  = 1 + timeDigits + 2*otherDigits
)

// ChangeID returns the id of the transaction of a change. ok is false if the names are too long for
// an id. See [Store.IDOfChange].
func ChangeID(change Change, at time.Time) (id string, ok bool) {
	var random [otherDigits / 2]byte
	rand.Read(random[:]) // never returns an error: a failure ends the program
	body, err := json.Marshal(change)
	if err != nil {
		body = nil // cannot happen: all fields are strings
	}
	text := base64.RawURLEncoding.EncodeToString(body)
	head := fmt.Sprintf("x%012x%x", at.UnixMilli(), random)
	id = head + sumOf(head+text) + text
	return id, len(id) <= protocol.MaxIDComponentBytes
}

// sumOf returns the checksum of an id.
func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:otherDigits/2])
}

// parseChangeID decodes the id of a change. ok is false for other ids and wrong checksums.
func parseChangeID(id string) (*madeChange, bool) {
	if len(id) <= changeHead || id[0] != 'x' || !isHex(id[1:changeHead]) {
		return nil, false
	}
	head, sum, text := id[:changeHead-otherDigits], id[changeHead-otherDigits:changeHead], id[changeHead:]
	body, err := base64.RawURLEncoding.Strict().DecodeString(text)
	made := &madeChange{id: id}
	if err != nil || sumOf(head+text) != sum || json.Unmarshal(body, &made.Change) != nil {
		return nil, false
	}
	millis, err := strconv.ParseInt(head[1:1+timeDigits], 16, 64)
	made.at = time.UnixMilli(millis).UTC()
	return made, err == nil
}

// GetChange returns a change. If a client has altered it, its record holds the current state.
func (s *Store) GetChange(ctx context.Context, ref Ref) (*Transaction, error) {
	t, err := s.getIfAny(ctx, ref.recorded())
	if t != nil || err != nil {
		return t, err
	}
	t = OfChange(ref.change.Change, ref.change.at)
	t.ID = ref.change.id
	return t, nil
}

// AlterChange alters a change as [Store.Alter] does. It creates the record if there is none yet.
func (s *Store) AlterChange(ctx context.Context, ref Ref, actions []transactionapi.Action) (*Transaction, error) {
	fresh := OfChange(ref.change.Change, ref.change.at)
	return s.change(ctx, ref.recorded(), fresh, func(t *Transaction) error { return t.apply(actions) })
}
