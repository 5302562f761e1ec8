package table

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/storage/record"
)

// A search that ends early continues at the last record that it has read, which the caller may not be allowed to see. So
// tokens for callers under policies are encrypted: AES-256-GCM hides the position, and padding its length. The key is in a
// record, which the first process that needs it creates. A principal that can read this record can read all names in the
// catalog anyway.

// positionRecord is the record key of the encryption key for tokens.
const positionRecord = "tokens/find"

const (
	plainToken  = "p"
	sealedToken = "s"
	// positionStep is the multiple to which positions are padded.
	positionStep = 256
)

var tokenText = base64.RawURLEncoding

// sealPosition returns the token of a position, or "" for "".
func (s *Service) sealPosition(ctx context.Context, position string) (string, error) {
	if position == "" {
		return "", nil
	}
	if !auth.Limited(ctx) {
		return plainToken + tokenText.EncodeToString([]byte(position)), nil
	}
	seal, err := s.positions.cipher(ctx, s.tables.Records)
	if err != nil {
		return "", err
	}
	padded := make([]byte, (len(position)/positionStep+1)*positionStep)
	copy(padded, position)
	nonce := make([]byte, seal.NonceSize())
	rand.Read(nonce)
	return sealedToken + tokenText.EncodeToString(seal.Seal(nonce, nonce, padded, nil)), nil
}

var errToken = protocol.Errorf(protocol.InvalidInput, "page_token is not one that a page has ended with; begin without one")

// openPosition is the inverse of sealPosition.
func (s *Service) openPosition(ctx context.Context, token string) (string, error) {
	if token == "" {
		return "", nil
	}
	text, err := tokenText.DecodeString(token[1:])
	switch {
	case err != nil || len(text) == 0:
		return "", errToken
	// A plain token could name any position, so it is not accepted from callers under policies.
	case token[:1] == plainToken && !auth.Limited(ctx):
		return string(text), nil
	case token[:1] != sealedToken || !auth.Limited(ctx):
		return "", errToken
	}
	seal, err := s.positions.cipher(ctx, s.tables.Records)
	if err != nil {
		return "", err
	}
	if len(text) < seal.NonceSize() {
		return "", errToken
	}
	position, err := seal.Open(nil, text[:seal.NonceSize()], text[seal.NonceSize():], nil)
	if err != nil {
		return "", errToken
	}
	return strings.TrimRight(string(position), "\x00"), nil
}

// A positionKey caches the cipher of tokens.
type positionKey struct{ known chan cipher.AEAD } // has capacity 1; contains the cipher, or nil before the first use

func newPositionKey() positionKey {
	k := positionKey{make(chan cipher.AEAD, 1)}
	k.known <- nil
	return k
}

// cipher returns the cipher with the stored key. It reads the record once, and creates it if it
// does not exist.
func (k positionKey) cipher(ctx context.Context, records record.Store) (seal cipher.AEAD, err error) {
	select {
	case seal = <-k.known:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { k.known <- seal }()
	if seal != nil {
		return seal, nil
	}
	key, err := storedKey(ctx, records)
	if err != nil {
		return nil, fmt.Errorf("the key of page tokens: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("the key of page tokens: %w", err)
	}
	return cipher.NewGCM(block)
}

// tokenKey is the JSON value of the record.
type tokenKey struct {
	Key []byte `json:"key"`
}

// storedKey returns the key in the record, which it creates if necessary.
func storedKey(ctx context.Context, records record.Store) ([]byte, error) {
	found, err := records.Get(ctx, positionRecord)
	if errors.Is(err, record.ErrNotExist) {
		fresh := tokenKey{make([]byte, 32)}
		rand.Read(fresh.Key)
		value, err := json.Marshal(fresh)
		if err != nil {
			return nil, err
		}
		_, err = records.Put(ctx, record.Record{Key: positionRecord, Value: value})
		if err != nil && !errors.Is(err, record.ErrConflict) && !errors.Is(err, record.ErrUnknownOutcome) {
			return nil, err
		}
		found, err = records.Get(ctx, positionRecord) // another process may have created the record first
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	var stored tokenKey
	err = found.Decode(&stored)
	return stored.Key, err
}
