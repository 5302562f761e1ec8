package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// A certificate is read from its files again when they have changed, so that it can be renewed while the server runs.
type certificate struct {
	chain, key string // files in PEM
	logger     *slog.Logger

	mu     sync.Mutex
	loaded *tls.Certificate
	stamps [2]stamp // of the files, as they were loaded
}

// A stamp changes with a file.
type stamp struct {
	size     int64
	modified time.Time
}

// tlsOf returns the configuration for a certificate and its key, or nil without both.
func tlsOf(chain, key string, logger *slog.Logger) (*tls.Config, error) {
	if chain == "" && key == "" {
		return nil, nil //nolint:nilnil // no TLS
	}
	if chain == "" || key == "" {
		return nil, errors.New("--sql-certificate and --sql-key are given together, or neither")
	}
	c := &certificate{chain: chain, key: key, logger: logger}
	if err := c.load(); err != nil {
		return nil, err
	}
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12}, nil
}

// load reads the files if they have changed.
func (c *certificate) load() error {
	var stamps [2]stamp
	for i, name := range []string{c.chain, c.key} {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		stamps[i] = stamp{info.Size(), info.ModTime()}
	}
	if c.loaded != nil && stamps == c.stamps {
		return nil
	}
	loaded, err := tls.LoadX509KeyPair(c.chain, c.key)
	if err != nil {
		return fmt.Errorf("the certificate %s and its key: %w", c.chain, err)
	}
	c.loaded, c.stamps = &loaded, stamps
	return nil
}

// get returns the certificate for a connection. If its files cannot be read, as in the middle of a renewal, it is the one
// before.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.load(); err != nil {
		c.logger.Warn("the certificate was not read again", "error", err)
	}
	return c.loaded, nil
}
