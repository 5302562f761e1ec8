// Package secretbox encrypts the values of secrets, with the keys of a file; package kmskeys does so with a key
// of KMS. A sealed value belongs to the name of its secret: under another name, or in another deployment, it
// cannot be opened.
package secretbox

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
)

// A Sealer encrypts values. Some implementations cannot decrypt them.
type Sealer interface {
	// Seal encrypts the value of the secret with an id.
	Seal(ctx context.Context, id []string, value []byte) (Sealed, error)
}

// An Opener opens sealed values, for the programs that run functions.
type Opener interface {
	// Open is the inverse of Seal. It returns an error when the value was sealed for another secret, by
	// another key, or in another deployment, and when it was changed.
	Open(ctx context.Context, id []string, sealed Sealed) ([]byte, error)
}

// Keys seal values and open them, as far as they may.
type Keys interface {
	Sealer
	Opener
}

// A Sealed is a value that only the keys of its deployment open.
type Sealed struct {
	Key        string `json:"key_id"`
	DataKey    []byte `json:"data_key,omitempty"` // that encrypts the value, itself encrypted; nil: the key does
	Nonce      []byte `json:"nonce"`
	Ciphertext []byte `json:"ciphertext"` // AES-256-GCM, 16 bytes longer than the value
}

// KeyBytes is the length of the keys that encrypt values.
const KeyBytes = 32

// Encrypt returns a value that is encrypted and authenticated, together with a binding, by a key of
// KeyBytes bytes.
func Encrypt(key, binding, value []byte) (Sealed, error) {
	aead, err := aeadOf(key)
	if err != nil {
		return Sealed{}, err
	}
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce) // never returns an error: a failure ends the program
	return Sealed{Nonce: nonce, Ciphertext: aead.Seal(nil, nonce, value, binding)}, nil
}

// Decrypt is the inverse of Encrypt.
func Decrypt(key, binding []byte, sealed Sealed) ([]byte, error) {
	aead, err := aeadOf(key)
	if err != nil {
		return nil, err
	}
	if len(sealed.Nonce) != aead.NonceSize() {
		return nil, fmt.Errorf("a sealed value has a nonce of %d bytes; %d are possible", len(sealed.Nonce), aead.NonceSize())
	}
	return aead.Open(nil, sealed.Nonce, sealed.Ciphertext, binding)
}

func aeadOf(key []byte) (cipher.AEAD, error) {
	if len(key) != KeyBytes {
		return nil, fmt.Errorf("a key has %d bytes; it must have %d", len(key), KeyBytes)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Binding returns the additional authenticated data of an encrypted value. It differs for any two
// deployments and ids.
func Binding(deployment string, id []string) []byte {
	text, err := json.Marshal(append([]string{deployment}, id...))
	if err != nil {
		panic(err) // a list of strings always encodes
	}
	return text
}

// Seal encrypts the value of the secret with an id. It makes the file of keys when that is missing.
func (f *KeyFile) Seal(_ context.Context, id []string, value []byte) (Sealed, error) {
	ring, err := f.readOrMake()
	if err != nil {
		return Sealed{}, err
	}
	sealed, err := Encrypt(ring.Keys[0].Key, Binding(ring.Deployment, id), value)
	sealed.Key = ring.Keys[0].ID
	return sealed, err
}

// Reseal seals a value with the first key of the file. changed is false when it is so already.
func (f *KeyFile) Reseal(ctx context.Context, id []string, sealed Sealed) (again Sealed, changed bool, err error) {
	ring, err := f.read()
	if err != nil || sealed.Key == ring.Keys[0].ID {
		return sealed, false, err
	}
	value, err := f.Open(ctx, id, sealed)
	if err != nil {
		return sealed, false, err
	}
	again, err = f.Seal(ctx, id, value)
	return again, err == nil, err
}

// Open decrypts a value. It returns an error if the value was encrypted for another secret, with a
// key that is not in the file, or in another deployment, and if it was changed.
func (f *KeyFile) Open(_ context.Context, id []string, sealed Sealed) ([]byte, error) {
	ring, err := f.read()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(ring.Keys, func(k key) bool { return k.ID == sealed.Key })
	if i < 0 || sealed.DataKey != nil {
		return nil, fmt.Errorf("the file of keys %s does not hold the key %.80q", f.path, sealed.Key)
	}
	return Decrypt(ring.Keys[i].Key, Binding(ring.Deployment, id), sealed)
}
