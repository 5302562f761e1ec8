// Package sealing encrypts the values of secrets with the keys of a file. A sealed value belongs to
// the name of its secret: under another name, or in another deployment, it cannot be opened.
package sealing

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
)

// A Sealed is a value that only the keys of its deployment open.
type Sealed struct {
	Key        string `json:"key_id"`
	Nonce      []byte `json:"nonce"`
	Ciphertext []byte `json:"ciphertext"` // AES-256-GCM, 16 bytes longer than the value
}

// Seal encrypts the value of the secret with an id. It makes the file of keys when that is missing.
func (f *KeyFile) Seal(id []string, value []byte) (Sealed, error) {
	ring, err := f.readOrMake()
	if err != nil {
		return Sealed{}, err
	}
	current := ring.Keys[0]
	aead, err := current.aead()
	if err != nil {
		return Sealed{}, err
	}
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce) // never returns an error: a failure ends the program
	return Sealed{Key: current.ID, Nonce: nonce, Ciphertext: aead.Seal(nil, nonce, value, ring.binding(id))}, nil
}

// Reseal seals a value with the first key of the file. changed is false when it is so already.
func (f *KeyFile) Reseal(id []string, sealed Sealed) (again Sealed, changed bool, err error) {
	ring, err := f.read()
	if err != nil || sealed.Key == ring.Keys[0].ID {
		return sealed, false, err
	}
	value, err := f.Open(id, sealed)
	if err != nil {
		return sealed, false, err
	}
	again, err = f.Seal(id, value)
	return again, err == nil, err
}

// Open is the inverse of [KeyFile.Seal]. It returns an error when the value was sealed for another
// secret, by a key that the file does not hold, or in another deployment, and when it was changed.
func (f *KeyFile) Open(id []string, sealed Sealed) ([]byte, error) {
	ring, err := f.read()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(ring.Keys, func(k key) bool { return k.ID == sealed.Key })
	if i < 0 {
		return nil, fmt.Errorf("the file of keys %s does not hold the key %.80q", f.path, sealed.Key)
	}
	aead, err := ring.Keys[i].aead()
	if err != nil {
		return nil, err
	}
	if len(sealed.Nonce) != aead.NonceSize() {
		return nil, fmt.Errorf("a sealed value has a nonce of %d bytes; %d are possible", len(sealed.Nonce), aead.NonceSize())
	}
	return aead.Open(nil, sealed.Nonce, sealed.Ciphertext, ring.binding(id))
}

func (k key) aead() (cipher.AEAD, error) {
	block, err := aes.NewCipher(k.Key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// binding returns what a sealed value is authenticated with beside itself. Two ids never have the
// same binding.
func (r *ring) binding(id []string) []byte {
	text, err := json.Marshal(append([]string{r.Deployment}, id...))
	if err != nil {
		panic(err) // a list of strings always encodes
	}
	return text
}
