package auth

import (
	"context"
	"time"
)

// Ready returns an error if a verifier currently cannot verify tokens. Verifiers without remote
// data are always ready.
func Ready(ctx context.Context, v Verifier) error {
	if r, ok := v.(interface {
		Ready(ctx context.Context) error
	}); ok {
		return r.Ready(ctx)
	}
	return nil
}

// Ready checks all verifiers, because they serve different principals.
func (c Chain) Ready(ctx context.Context) error {
	for _, v := range c {
		if err := Ready(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// Ready fetches the keys, unless they are cached.
func (v *JWT) Ready(ctx context.Context) error { return v.keys.ready(ctx, v.config.Now()) }

// ready fetches the keys unless some are cached. Old keys count, because they stay in use if a fetch
// fails.
func (s *KeySet) ready(ctx context.Context, now time.Time) error {
	if s.any() {
		return nil
	}
	err := s.refresh(ctx, now)
	if s.any() { // another call has fetched them meanwhile
		return nil
	}
	return err
}

func (s *KeySet) any() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.keys) > 0
}
