package boot

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"tiltyard/shared/protocol/auth"
)

// openVerifier joins the configured verifiers, cheap ones first.
func openVerifier(c Config, clients Clients, log *slog.Logger) (auth.Verifier, error) {
	var chain auth.Chain
	var wrong []error
	if c.Token != "" {
		static, err := auth.NewStatic(auth.TokenSubject, c.Token)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("token: %w", err))
		}
		chain = append(chain, static)
	}
	if c.APIKeys != "" {
		keys, err := openAPIKeys(c.APIKeys, clients, log)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("api-keys: %w", err))
		}
		chain = append(chain, keys)
	}
	if c.JWKS != "" {
		jwt, err := openJWT(c)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("jwks: %w", err))
		}
		chain = append(chain, jwt)
	}
	return chain, errors.Join(wrong...)
}

// openAPIKeys reads a file, so that mistakes are reported at once. It does not read a bucket before the
// first request.
func openAPIKeys(place string, clients Clients, log *slog.Logger) (auth.Verifier, error) {
	if isBucket(place) {
		fetch, err := objectIn(place, clients, log)
		if err != nil {
			return nil, err
		}
		return auth.OpenAPIKeys(fetch, time.Now), nil
	}
	f, err := os.Open(place)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return auth.ParseAPIKeys(f)
}

// openJWT fetches no keys, but returns an error at once for a missing file.
func openJWT(c Config) (*auth.JWT, error) {
	var keys *auth.KeySet
	if isURL(c.JWKS) {
		keys = auth.RemoteKeys(c.JWKS)
	} else {
		if _, err := os.Stat(c.JWKS); err != nil {
			return nil, err
		}
		keys = auth.FileKeys(c.JWKS)
	}
	config := auth.JWTConfig{Issuer: c.Issuer, Audience: c.Audience, Type: c.JWTType, Now: time.Now}
	return auth.NewJWT(config, keys)
}
