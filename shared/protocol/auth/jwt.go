package auth

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"tiltyard/shared/protocol"
)

// leeway is how far the clocks of issuer and server may be apart.
const leeway = 60 * time.Second

// algorithms are the signatures that are accepted. Each is asymmetric, so that no public
// key can be abused as a shared secret, and go-jose binds each to its type of key.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.PS256, jose.ES256, jose.EdDSA}

// JWTConfig defines which tokens are accepted.
type JWTConfig struct {
	Issuer   string // required; compared byte by byte
	Audience string // required; one of the token's audiences must equal it
	// Type is the required typ of the header, such as at+jwt. Empty: any.
	Type string
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// JWT verifies signed tokens of one issuer.
type JWT struct {
	config JWTConfig
	keys   *KeySet
}

// NewJWT returns a verifier of tokens that are signed by one of the keys.
func NewJWT(config JWTConfig, keys *KeySet) (*JWT, error) {
	if config.Issuer == "" || config.Audience == "" {
		return nil, errors.New("JWT verification needs an issuer and an audience")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	return &JWT{config: config, keys: keys}, nil
}

// claims are the claims that are read in addition to the registered ones.
type claims struct {
	Scope  string   `json:"scope"` // separated by spaces, RFC 8693
	Scopes wordList `json:"scp"`   // as some issuers write it
	Groups nameList `json:"groups"`
	Roles  nameList `json:"roles"`
	Tenant nameList `json:"tenant"`
}

// tenant returns the tenant that a token names. A token with several belongs to none of them alone.
func (c claims) tenant() string {
	if len(c.Tenant) != 1 {
		return ""
	}
	return c.Tenant[0]
}

// Verify checks signature, issuer, audience, type and times of a token.
func (v *JWT) Verify(ctx context.Context, token string) (*Principal, error) {
	if len(token) > maxTokenBytes {
		return nil, unauthenticated("the token is too long", nil)
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return nil, unauthenticated("the token is not a JWT with an accepted signature algorithm", err)
	}
	header := parsed.Headers[0]
	if !v.acceptsType(header) {
		return nil, unauthenticated("the token is of another type than "+v.config.Type, nil)
	}
	key, err := v.keys.find(ctx, header.KeyID, header.Algorithm, v.config.Now())
	if err != nil {
		return nil, err
	}
	var registered jwt.Claims
	var ours claims
	if err := parsed.Claims(key, &registered, &ours); err != nil {
		return nil, unauthenticated("the token's signature or form is not valid", err)
	}
	if err := v.checkClaims(registered); err != nil {
		return nil, err
	}
	return &Principal{
		Subject: registered.Subject,
		Issuer:  registered.Issuer,
		Scopes:  append(strings.Fields(ours.Scope), ours.Scopes...),
		Groups:  ours.Groups,
		Roles:   ours.Roles,
		Claim:   ours.tenant(),
	}, nil
}

// acceptsType reports whether the header has the configured token type.
func (v *JWT) acceptsType(header jose.Header) bool {
	if v.config.Type == "" {
		return true
	}
	typ, _ := header.ExtraHeaders[jose.HeaderType].(string)
	const prefix = "application/" // may be left out, RFC 7515 4.1.9
	return strings.EqualFold(strings.TrimPrefix(strings.ToLower(typ), prefix), strings.TrimPrefix(v.config.Type, prefix))
}

// checkClaims requires an expiry and a subject, and checks the times, the issuer and the audience.
func (v *JWT) checkClaims(registered jwt.Claims) error {
	if registered.Expiry == nil {
		return unauthenticated("the token never expires", nil)
	}
	if registered.Subject == "" {
		return unauthenticated("the token names no subject", nil)
	}
	err := registered.ValidateWithLeeway(jwt.Expected{
		Issuer:      v.config.Issuer,
		AnyAudience: jwt.Audience{v.config.Audience},
		Time:        v.config.Now(),
	}, leeway)
	switch {
	case errors.Is(err, jwt.ErrExpired):
		return unauthenticated("the token has expired", err)
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return unauthenticated("the token is not valid yet", err)
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return unauthenticated("the token is of another issuer", err)
	case errors.Is(err, jwt.ErrInvalidAudience):
		return unauthenticated("the token is for another audience", err)
	case err != nil:
		return unauthenticated("the token's claims are not valid", err)
	}
	return nil
}

// wordList is an array of strings or one string of words.
type wordList []string

// UnmarshalJSON reads both forms.
func (s *wordList) UnmarshalJSON(data []byte) error {
	var words string
	if json.Unmarshal(data, &words) == nil {
		*s = strings.Fields(words)
		return nil
	}
	return json.Unmarshal(data, (*[]string)(s))
}

// nameList is an array of strings or one string. Some issuers use claims of these names for other
// purposes, so other values are ignored.
type nameList []string

// UnmarshalJSON keeps the strings of the list and ignores other values.
func (n *nameList) UnmarshalJSON(data []byte) error {
	var several []any
	if json.Unmarshal(data, &several) != nil {
		several = make([]any, 1)
		if err := json.Unmarshal(data, &several[0]); err != nil {
			return err
		}
	}
	for _, one := range several {
		if name, ok := one.(string); ok {
			*n = append(*n, name)
		}
	}
	return nil
}

var _ Verifier = (*JWT)(nil)

func unavailable(message string, cause error) error {
	return &protocol.Error{Code: protocol.ServiceUnavailable, Message: message, Err: cause}
}
