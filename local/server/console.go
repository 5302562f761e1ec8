package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"tiltyard/local/server/sample"
	"tiltyard/local/server/session"
	"tiltyard/shared/boot"
	"tiltyard/shared/http/console"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/all"
)

// openSessions lets the console sign in to sessions of the server's token. Without a token there are none: no code will be
// made.
func openSessions(ctx context.Context, env *boot.Env) (*session.Sessions, error) {
	principal := new(auth.Principal)
	if env.Token != "" {
		var err error
		if principal, err = env.Verifier.Verify(ctx, env.Token); err != nil {
			return nil, fmt.Errorf("token: %w", err)
		}
	}
	sessions := session.New(principal, env.Now)
	env.AddVerifier(sessions)
	return sessions, nil
}

// newHandler serves all operations, the console, and what the console needs of this server alone.
func newHandler(env *boot.Env, services all.Services, sessions *session.Sessions) http.Handler {
	operations := env.Handler(services.Routes...)
	next := console.Handler(operations, env.BasePath)
	paths := map[string]http.Handler{
		session.Path: sessions.Handler(env.Verifier, env.Audit),
		sample.Path:  sample.Handler(operations, env.BasePath),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, ok := strings.CutPrefix(r.URL.Path, env.BasePath); ok && paths[path] != nil {
			paths[path].ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// linked reports whether the server prints a link that signs in to the console: if it was told to, or on a terminal of a
// machine whose users alone can connect.
func linked(config boot.Config, at net.Addr, terminal bool) bool {
	switch config.ConsoleLink {
	case "on":
		return config.Token != ""
	case "off":
		return false
	}
	tcp, ok := at.(*net.TCPAddr)
	return config.Token != "" && terminal && ok && tcp.IP.IsLoopback()
}
