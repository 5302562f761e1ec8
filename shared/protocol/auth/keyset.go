package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	maxKeySetBytes = 256 << 10
	maxKeys        = 100
	// keysAge is the age at which keys are fetched again. refreshPause is the minimum time between two
	// attempts to fetch, whatever key ids tokens contain.
	keysAge      = time.Hour
	refreshPause = 10 * time.Second
	fetchTimeout = 5 * time.Second
)

// KeySet caches the public keys of an issuer. It fetches them on first use, when they are old, and
// when a token has an unknown key id. If that fails, the old keys stay in use. It is safe for
// concurrent use.
type KeySet struct {
	fetch func(context.Context) ([]byte, error)

	mu      sync.RWMutex
	keys    []jose.JSONWebKey
	fetched time.Time // time at which keys were fetched

	refreshing sync.Mutex // held during a fetch, so that concurrent requests share it
	attempted  time.Time  // guarded by refreshing
	failure    error      // of the last attempt; guarded by refreshing
}

// RemoteKeys are the keys published at a URL, usually the jwks_uri of an issuer.
// Redirects are not followed.
func RemoteKeys(url string) *KeySet {
	client := &http.Client{
		Timeout: fetchTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the key set redirects elsewhere")
		},
	}
	return &KeySet{fetch: func(ctx context.Context) ([]byte, error) { return fetchKeys(ctx, client, url) }}
}

// FileKeys returns the keys of a file with a JSON Web Key Set.
func FileKeys(path string) *KeySet {
	return &KeySet{fetch: func(context.Context) ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // it was only read
		return readKeys(f)
	}}
}

// fetchKeys reads a key set from a URL.
func fetchKeys(ctx context.Context, client *http.Client, from string) ([]byte, error) {
	// The keys serve all requests, so the cancellation of one of them must not end the fetch. The
	// client's timeout bounds the wait.
	req, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		err = failed.Err // drop the URL of the message, which may contain a secret
	}
	if err != nil {
		return nil, fmt.Errorf("fetch the key set from %s: %w", req.URL.Host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("key set at %s answers %s", req.URL.Host, resp.Status)
	}
	return readKeys(resp.Body)
}

// readKeys reads a key set of bounded size.
func readKeys(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxKeySetBytes+1))
	if err == nil && len(data) > maxKeySetBytes {
		return nil, fmt.Errorf("key set is larger than %d bytes", maxKeySetBytes)
	}
	return data, err
}

// find returns the public key with the given id for the given algorithm. A token without a kid
// matches if there is only one key.
func (s *KeySet) find(ctx context.Context, kid, algorithm string, now time.Time) (any, error) {
	key, fresh := s.lookup(kid, algorithm, now)
	if key != nil && fresh {
		return key, nil
	}
	failure := s.refresh(ctx, now)
	if key, _ = s.lookup(kid, algorithm, now); key != nil {
		return key, nil
	}
	if failure != nil {
		return nil, unavailable("the keys of the token's issuer cannot be had at present", failure)
	}
	return nil, unauthenticated("the token is signed with an unknown key", nil)
}

// lookup finds a key among the cached ones. fresh is false if the cache is old.
func (s *KeySet) lookup(kid, algorithm string, now time.Time) (key any, fresh bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	fresh = now.Sub(s.fetched) < keysAge
	for _, k := range s.keys {
		if k.KeyID != kid && !(kid == "" && len(s.keys) == 1) {
			continue
		}
		if k.Algorithm == "" || k.Algorithm == algorithm {
			return k.Key, fresh
		}
	}
	return nil, fresh
}

// refresh fetches the keys, unless the last attempt was less than refreshPause ago; then it returns
// the error of that attempt.
func (s *KeySet) refresh(ctx context.Context, now time.Time) error {
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	if !s.attempted.IsZero() && now.Sub(s.attempted).Abs() < refreshPause {
		return s.failure
	}
	s.attempted = now
	data, err := s.fetch(ctx)
	if err == nil {
		err = s.replace(data, now)
	}
	s.failure = err
	return err
}

// replace sets the signing keys from a JSON Web Key Set. It skips keys of unknown types, as RFC
// 7517 recommends, and private and symmetric ones.
func (s *KeySet) replace(data []byte, now time.Time) error {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return fmt.Errorf("parse the key set: %w", err)
	}
	if len(set.Keys) > maxKeys {
		return fmt.Errorf("key set holds %d keys; at most %d are accepted", len(set.Keys), maxKeys)
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) == nil && key.IsPublic() && key.Valid() && (key.Use == "" || key.Use == "sig") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return errors.New("key set holds no usable key")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.fetched = keys, now
	return nil
}
