// Package kmskeys encrypts the values of secrets with a key of AWS KMS. Each value has a data key
// of its own, which KMS creates and encrypts. A program whose role has kms:GenerateDataKey but not
// kms:Decrypt can encrypt values that it cannot decrypt.
package kmskeys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"tiltyard/shared/catalog/secretbox"
)

// Keys encrypts and decrypts values with one key of KMS. It is safe for concurrent use.
type Keys struct {
	client     *kms.Client
	key        string
	deployment string
}

// Open returns the keys of a deployment: key is the ARN of a symmetric key of KMS. It sends no request.
func Open(c aws.Config, key, deployment string) secretbox.Keys {
	return &Keys{client: kms.NewFromConfig(c), key: key, deployment: deployment}
}

// The encryption context of a data key, which KMS authenticates and writes to the log of its uses.
const (
	deploymentContext = "tiltyard:deployment"
	secretContext     = "tiltyard:secret"
	// maxContext is the longest text of a context; KMS takes 8 KiB in all.
	maxContext = 2 << 10
)

// contextOf returns the encryption context of the data key of a secret.
func (k *Keys) contextOf(id []string) map[string]string {
	return map[string]string{deploymentContext: bounded(k.deployment), secretContext: bounded(string(secretbox.Binding("", id)))}
}

// bounded returns a text, or its hash when it is long.
func bounded(text string) string {
	if len(text) <= maxContext {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Seal encrypts the value of the secret with an id by a new data key.
func (k *Keys) Seal(ctx context.Context, id []string, value []byte) (secretbox.Sealed, error) {
	made, err := k.client.GenerateDataKey(ctx, &kms.GenerateDataKeyInput{
		KeyId: &k.key, KeySpec: types.DataKeySpecAes256, EncryptionContext: k.contextOf(id),
	})
	if err != nil {
		return secretbox.Sealed{}, fmt.Errorf("make a key for a secret: %w", err)
	}
	defer clear(made.Plaintext)
	sealed, err := secretbox.Encrypt(made.Plaintext, secretbox.Binding(k.deployment, id), value)
	sealed.Key, sealed.DataKey = k.key, made.CiphertextBlob
	return sealed, err
}

// Open is the inverse of Seal.
func (k *Keys) Open(ctx context.Context, id []string, sealed secretbox.Sealed) ([]byte, error) {
	if sealed.Key != k.key || len(sealed.DataKey) == 0 {
		return nil, fmt.Errorf("the value was sealed by the key %.200q and not by that of this deployment", sealed.Key)
	}
	opened, err := k.client.Decrypt(ctx, &kms.DecryptInput{
		CiphertextBlob: sealed.DataKey, KeyId: &k.key, EncryptionContext: k.contextOf(id),
		EncryptionAlgorithm: types.EncryptionAlgorithmSpecSymmetricDefault,
	})
	if err != nil {
		return nil, fmt.Errorf("open the key of a secret: %w", err)
	}
	defer clear(opened.Plaintext)
	return secretbox.Decrypt(opened.Plaintext, secretbox.Binding(k.deployment, id), sealed)
}
