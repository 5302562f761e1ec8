package objectstore

import (
	"context"
	"time"
)

// A Signer is a Store that can grant temporary access to one object to a program without credentials.
type Signer interface {
	// SignGet returns a URL from which anyone can GET an object until it expires. The response has the
	// given content type, unless that is empty. It sends no request.
	SignGet(ctx context.Context, key, contentType string, lasts time.Duration) (url string, err error)
	// SignPut returns a URL to which anyone can PUT an object until it expires. It sends no request.
	SignPut(ctx context.Context, key string, lasts time.Duration) (url string, err error)
}

// SignerOf returns the store within wrappers if it signs URLs, else nil.
func SignerOf(s Store) Signer {
	signer, _ := Innermost(s).(Signer)
	return signer
}
