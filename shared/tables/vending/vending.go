// Package vending issues credentials for the data of one table, so that clients can read and write
// its location directly.
//
// Package stsvendor issues temporary credentials of a [Role] for that table alone. [Static] returns
// configured credentials for
// every table, for stores without roles and for clients with access to all data. Both return
// storage options in the form of Lance.
//
// A clone refers to files of its source, to which credentials for the clone give no access.
package vending

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"time"
)

// A Request describes the credentials that are needed.
type Request struct {
	Table    []string // id of the table
	Location string   // URI of its data
	Write    bool     // and not only read
	Holder   string   // receives the credentials; for the logs and the policies of AWS
}

// A Vendor issues credentials. It is safe for concurrent use. The caller owns the result, which is
// nil for a location without credentials.
type Vendor interface {
	Vend(ctx context.Context, r Request) (map[string]string, error)
}

// A Role is a role of IAM whose credentials are vended.
type Role struct {
	ARN      string // its trust policy must name who runs this
	Region   string // of the buckets
	Endpoint string // of S3, where that is not the one of AWS
	Tags     bool   // the sessions have tags, which its trust policy must allow
	Now      func() time.Time
}

// Static is storage options that are handed out as they are.
type Static struct{ options map[string]string }

const maxStaticBytes = 64 << 10

// ParseStatic reads storage options from a JSON object of strings.
func ParseStatic(r io.Reader) (*Static, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxStaticBytes))
	if err != nil {
		return nil, fmt.Errorf("read the keys to vend: %w", err)
	}
	s := new(Static)
	if json.Unmarshal(text, &s.options) != nil || len(s.options) == 0 { // its error could repeat a key
		return nil, fmt.Errorf("the keys to vend must be a JSON object of strings")
	}
	return s, nil
}

// Vend returns the options.
func (s *Static) Vend(context.Context, Request) (map[string]string, error) {
	return maps.Clone(s.options), nil
}
