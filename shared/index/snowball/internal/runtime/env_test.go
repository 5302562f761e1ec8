package runtime_test

import (
	"testing"

	"tiltyard/shared/index/snowball/internal/runtime"
)

func TestEnvReplacesASliceAndMovesTheCursor(t *testing.T) {
	env := runtime.NewEnv("running")
	env.Bra, env.Ket, env.Cursor = 3, 7, 7
	env.SliceFrom("s")
	if got := env.Current(); got != "runs" || env.Limit != 4 || env.Ket != 4 || env.Cursor != 4 {
		t.Errorf("got %q, limit %d, ket %d, cursor %d; want runs, and 4 each", got, env.Limit, env.Ket, env.Cursor)
	}
	env.SetCurrent("other")
	if env.Current() != "other" || env.Cursor != 0 || env.Limit != 5 {
		t.Errorf("got %q, cursor %d, limit %d; want another word from its beginning", env.Current(), env.Cursor, env.Limit)
	}
}
