package boot

import (
	"errors"
	"fmt"
	"os"
	"time"

	"tiltyard/shared/auth"
)

// openVerifier joins the configured verifiers, cheap ones first.
func openVerifier(c Config) (auth.Verifier, error) {
	var chain auth.Chain
	var wrong []error
	if c.Token != "" {
		static, err := auth.NewStatic("token", c.Token)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("token: %w", err))
		}
		chain = append(chain, static)
	}
	if c.APIKeys != "" {
		keys, err := readAPIKeys(c.APIKeys)
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

func readAPIKeys(file string) (*auth.APIKeys, error) {
	f, err := os.Open(file)
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
