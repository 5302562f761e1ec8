package auth

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"
)

// APIKeys verifies API keys by the SHA-256 hashes in a file. A reader of the file cannot derive the
// keys: they are long and random, so that their hashes need no salt. API keys have all rights
// unless policies limit them.
type APIKeys struct {
	keys []apiKey
}

// An apiKey is the name of a key, and the SHA-256 of the key itself, which is not stored.
type apiKey struct {
	name string
	hash [sha256.Size]byte
}

// ParseAPIKeys reads one key per line: its name, a space, and the SHA-256 of the key in
// hexadecimal. It skips empty lines and lines that begin with #.
func ParseAPIKeys(r io.Reader) (*APIKeys, error) {
	parsed := &APIKeys{}
	names := map[string]bool{}
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, digits, _ := strings.Cut(line, " ")
		hash, err := hex.DecodeString(strings.TrimSpace(digits))
		if err != nil || len(hash) != sha256.Size {
			return nil, fmt.Errorf("API keys, line %d: want a name and the SHA-256 of the key in hexadecimal", number)
		}
		if names[name] {
			return nil, fmt.Errorf("API keys, line %d: the name %q is taken", number, name)
		}
		names[name] = true
		parsed.keys = append(parsed.keys, apiKey{name: name, hash: [sha256.Size]byte(hash)})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read API keys: %w", err)
	}
	return parsed, nil
}

// Verify compares the hash of the token with every stored hash, so that its duration reveals
// nothing about them.
func (v *APIKeys) Verify(_ context.Context, token string) (*Principal, error) {
	if len(token) > maxTokenBytes {
		return nil, unauthenticated("the API key is too long", nil)
	}
	hash := sha256.Sum256([]byte(token))
	name := ""
	for _, key := range v.keys {
		if subtle.ConstantTimeCompare(hash[:], key.hash[:]) == 1 {
			name = key.name
		}
	}
	if name == "" {
		return nil, unauthenticated("the API key is not known", nil)
	}
	return &Principal{Subject: keySubject + name, Scopes: []string{ScopeRead, ScopeWrite}}, nil
}

// FetchedAPIKeys verifies API keys from a file that is fetched again every minute. A key removed
// from the file is refused within a minute.
type FetchedAPIKeys struct{ fetched[APIKeys] }

// OpenAPIKeys returns a verifier of the keys in a remote text, which fetch returns in the form for
// [ParseAPIKeys]. It fetches the text on first use, and again after a minute. If fetch fails, it
// uses the old keys for a quarter of an hour; then Verify returns ServiceUnavailable.
func OpenAPIKeys(fetch func(context.Context) ([]byte, error), now func() time.Time) *FetchedAPIKeys {
	parse := func(text []byte) (*APIKeys, error) { return ParseAPIKeys(bytes.NewReader(text)) }
	return &FetchedAPIKeys{fetched[APIKeys]{name: "API keys", fetch: fetch, parse: parse, now: now}}
}

// Verify compares the hash of the token with every hash on file.
func (v *FetchedAPIKeys) Verify(ctx context.Context, token string) (*Principal, error) {
	keys, err := v.current(ctx)
	if err != nil {
		return nil, err
	}
	return keys.Verify(ctx, token)
}

// Ready fetches the keys, unless there are some that are still valid.
func (v *FetchedAPIKeys) Ready(ctx context.Context) error {
	_, err := v.current(ctx)
	return err
}

// Static verifies the single token of a local server, which has all rights.
type Static struct {
	subject string
	hash    [sha256.Size]byte
}

// NewStatic returns a verifier of one token. The token must not be empty.
func NewStatic(subject, token string) (*Static, error) {
	if token == "" {
		return nil, fmt.Errorf("the token of %s is empty", subject)
	}
	return &Static{subject: subject, hash: sha256.Sum256([]byte(token))}, nil
}

// Verify compares in constant time.
func (v *Static) Verify(_ context.Context, token string) (*Principal, error) {
	if len(token) > maxTokenBytes {
		return nil, unauthenticated("the token is too long", nil)
	}
	hash := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(hash[:], v.hash[:]) != 1 {
		return nil, unauthenticated("the token is not known", nil)
	}
	return &Principal{Subject: v.subject, Scopes: []string{ScopeRead, ScopeWrite}}, nil
}

var (
	_ Verifier = (*APIKeys)(nil)
	_ Verifier = (*FetchedAPIKeys)(nil)
	_ Verifier = (*Static)(nil)
)
