// Package vending gives clients credentials for the data of one table, so that they can read
// and write its location themselves.
//
// [Role] makes temporary ones that open that table and nothing else: it assumes a role under
// a session policy, so that they allow what both allow. [Static] hands out what it was
// configured with, whichever table is asked about: for stores that know no roles, and for
// clients that may have all of it. What they give are storage options as Lance takes them.
//
// A clone refers to files of its source, which credentials for the clone do not open.
package vending

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
)

// A Request says what credentials are for.
type Request struct {
	Table    []string // id of the table
	Location string   // URI of its data
	Write    bool     // and not only read
	Holder   string   // who gets them, for the logs and the policies of AWS
}

// A Vendor gives credentials. It is safe for concurrent use. The answer is the caller's, and
// nil for a location that the vendor has none for.
type Vendor interface {
	Vend(ctx context.Context, r Request) (map[string]string, error)
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
