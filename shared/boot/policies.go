package boot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path"
	"time"

	"tiltyard/shared/http/quota"
	"tiltyard/shared/protocol/auth"
)

// openPolicies opens the configured policies, or returns nil if there are none. It reads a file at
// once, to report mistakes at the start; it reads a bucket at the first request.
func openPolicies(c Config, clients Clients, log *slog.Logger, now func() time.Time) (*auth.Policies, error) {
	switch {
	case c.Policies == "":
		return nil, nil
	case isBucket(c.Policies):
		fetch, err := objectIn(c.Policies, clients, log)
		if err != nil {
			return nil, fmt.Errorf("policies: %w", err)
		}
		return auth.OpenPolicies(fetch, now), nil
	}
	policies := auth.OpenPolicies(func(context.Context) ([]byte, error) { return os.ReadFile(c.Policies) }, now)
	if err := policies.Check(context.Background()); err != nil {
		return nil, fmt.Errorf("policies: %w", err)
	}
	return policies, nil
}

// openQuotas opens the configured quotas, or returns nil if there are none. It reads files and buckets as openPolicies does.
func openQuotas(c Config, clients Clients, log *slog.Logger, now func() time.Time) (*auth.Document[quota.Table], error) {
	const name = "quotas"
	parse := quota.ParseUnmetered
	if c.Usage && c.Maintain {
		parse = quota.Parse
	}
	switch {
	case c.Quotas == "":
		return nil, nil
	case isBucket(c.Quotas):
		fetch, err := objectIn(c.Quotas, clients, log)
		if err != nil {
			return nil, fmt.Errorf("quotas: %w", err)
		}
		return auth.OpenDocument(name, fetch, parse, now), nil
	}
	quotas := auth.OpenDocument(name, func(context.Context) ([]byte, error) { return os.ReadFile(c.Quotas) }, parse, now)
	if err := quotas.Check(context.Background()); err != nil {
		return nil, fmt.Errorf("quotas: %w", err)
	}
	return quotas, nil
}

// objectIn returns a function that reads the object at s3://bucket/key.
func objectIn(place string, clients Clients, log *slog.Logger) (func(context.Context) ([]byte, error), error) {
	u, err := url.Parse(place)
	if err != nil {
		return nil, err
	}
	folder, name := path.Split(u.Path)
	if name == "" {
		return nil, errors.New("must be s3://bucket/key")
	}
	parent := url.URL{Scheme: u.Scheme, Host: u.Host, Path: path.Clean(folder)}
	root, err := (&bucketOpener{clients: clients, log: log}).open(parent.String())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) ([]byte, error) {
		text, _, err := root.Store.Get(ctx, name)
		return text, err
	}, nil
}
