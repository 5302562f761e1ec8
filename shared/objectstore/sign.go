package objectstore

import (
	"context"
	"time"
)

// A Signer is a Store that can lend one object for a while to a program that has no credentials.
type Signer interface {
	// SignGet returns a URL from which anyone can GET an object until a time has passed. The object arrives
	// under the content type, unless that is empty. It sends no request.
	SignGet(ctx context.Context, key, contentType string, lasts time.Duration) (url string, err error)
	// SignPut returns a URL to which anyone can PUT an object until a time has passed. It sends no request.
	SignPut(ctx context.Context, key string, lasts time.Duration) (url string, err error)
}

// SignerOf returns the store within wrappers if it signs URLs, else nil.
func SignerOf(s Store) Signer {
	signer, _ := Innermost(s).(Signer)
	return signer
}
