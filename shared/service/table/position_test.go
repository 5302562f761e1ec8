package table

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"tiltyard/shared/protocol"
	"tiltyard/shared/protocol/auth"
	"tiltyard/shared/service/servicetest"
)

// Processes that make tokens for the first time at once use one key, so that each opens the tokens of all.
func TestTokensOpenInEveryProcess(t *testing.T) {
	house := servicetest.Open(t)
	policies := auth.OpenPolicies(func(context.Context) ([]byte, error) { return nil, nil }, time.Now)
	access, err := policies.Access(t.Context(), &auth.Principal{Subject: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := auth.WithAccess(t.Context(), access)
	services := []*Service{New(house.Tables), New(house.Tables), New(house.Tables)}
	positions := []string{"_catalog/$/t/a", "_catalog/$/t/" + strings.Repeat("long", 60), "_catalog/$/t/" + strings.Repeat("l", 300)}
	tokens := make([]string, len(services))
	var all sync.WaitGroup
	for i, s := range services {
		all.Go(func() {
			token, err := s.sealPosition(ctx, positions[i])
			if err != nil {
				t.Error(err)
			}
			tokens[i] = token
		})
	}
	all.Wait()
	for _, s := range append(services, New(house.Tables)) {
		for i, token := range tokens {
			if got, err := s.openPosition(ctx, token); got != positions[i] || err != nil {
				t.Errorf("token %d: got %q, %v; want %q", i, got, err, positions[i])
			}
		}
	}
	if len(tokens[0]) != len(tokens[1]) || len(tokens[1]) == len(tokens[2]) {
		t.Errorf("got tokens of %d, %d and %d bytes; want the length to show multiples of %d", len(tokens[0]), len(tokens[1]), len(tokens[2]), positionStep)
	}
	if _, err := services[0].openPosition(t.Context(), tokens[0]); !protocol.HasCode(err, protocol.InvalidInput) {
		t.Errorf("got %v for a sealed token without policies, want InvalidInput", err)
	}
}
