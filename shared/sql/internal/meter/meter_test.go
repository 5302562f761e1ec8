package meter

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"tiltyard/shared/process/memory"
	"tiltyard/shared/sql"
)

func inShare(t *testing.T, bytes int64) (context.Context, *memory.Share) {
	share := memory.NewBudget(bytes, bytes).Open()
	t.Cleanup(share.Close)
	return memory.WithShare(t.Context(), share), share
}

func TestSlicesOfSeveralRowsAreRefusedFirst(t *testing.T) {
	ctx, share := inShare(t, 1<<20)
	m := New(ctx)
	m.Begin(8, 1000)
	if err := m.Take(1001); !errors.Is(err, ErrNarrow) {
		t.Errorf("more than the slice may: got %v, want ErrNarrow", err)
	}
	if err := m.TooMuch("much"); !errors.Is(err, ErrNarrow) {
		t.Errorf("too much of several rows: got %v, want ErrNarrow", err)
	}
	m.Begin(1, 1000)
	if err := m.Take(1001); err != nil {
		t.Errorf("a row may take what the share has: %v", err)
	}
	if err := m.TooMuch("much"); !errors.Is(err, sql.ErrTooLarge) {
		t.Errorf("too much of one row: got %v, want ErrTooLarge", err)
	}
	var refused *memory.Error
	if err := m.Take(2 << 20); !errors.As(err, &refused) {
		t.Errorf("more than the share: got %v, want a memory.Error", err)
	}
	m.End()
	if share.Held() != 0 {
		t.Errorf("%d bytes are held after the end", share.Held())
	}
}

func TestResultsStayInUse(t *testing.T) {
	ctx, share := inShare(t, 1<<20)
	m := New(ctx)
	m.Begin(1, 0)
	mark := m.Mark()
	if err := m.Take(500_000); err != nil {
		t.Fatal(err)
	}
	m.Settle(mark, 1000)
	if m.Mark() != 1000 || m.Peak() != 500_000 {
		t.Errorf("got %d bytes in use, %d at most; want 1000 and 500000", m.Mark(), m.Peak())
	}
	if err := m.Apart(func() (int, error) { return 300, m.Take(700) }); err != nil {
		t.Fatal(err)
	}
	if m.Mark() != 1000 || m.kept != 300 {
		t.Errorf("got %d bytes in use and %d kept, want 1000 and 300", m.Mark(), m.kept)
	}
	m.HoldColumn(400)
	m.Begin(1, 0)
	if m.Mark() != 0 || m.columns != 0 || m.kept != 300 {
		t.Errorf("the next slice begins with %d bytes, %d of columns, %d kept", m.Mark(), m.columns, m.kept)
	}
	m.End()
	if share.Held() != 0 {
		t.Errorf("%d bytes are held after the end", share.Held())
	}
}

func TestConstantsAreGivenUpWhenTheyAreMuchWork(t *testing.T) {
	m := ForPlan(t.Context())
	steps := 0
	err := m.Fold(func() error {
		for ; steps < 1000; steps++ {
			if err := m.Step(LookWork); err != nil {
				return err
			}
		}
		return nil
	})
	if !errors.Is(err, errEffort) || steps > maxFoldWork/LookWork+1 {
		t.Errorf("got %v after %d steps, want errEffort after %d", err, steps, maxFoldWork/LookWork)
	}
	folds := 1
	for ; m.MayFold() && folds < 1000; folds++ {
		_ = m.Fold(func() error { return m.Step(maxFoldWork - 1) })
	}
	if folds > maxPlanWork/maxFoldWork+2 {
		t.Errorf("%d constants were much work, want no more than %d", folds, maxPlanWork/maxFoldWork)
	}
	if m.KeepConstant(maxFolded+1) || !m.KeepConstant(maxFolded) {
		t.Errorf("constants are kept up to %d bytes", maxFolded)
	}
}

func TestPiecesEndBetweenCharacters(t *testing.T) {
	for shift := range 4 {
		s := []byte(strings.Repeat("x", shift) + strings.Repeat("日é", LookBytes/2))
		at := 0
		err := New(t.Context()).Pieces(s, func(from, to int) {
			if from != at || to-from > LookBytes || !utf8.Valid(s[from:to]) {
				t.Errorf("shift %d: piece from %d to %d", shift, from, to)
			}
			at = to
		})
		if err != nil || at != len(s) {
			t.Errorf("shift %d: got %v, and %d bytes of %d", shift, err, at, len(s))
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	pieces := 0
	if err := New(ended).Pieces(make([]byte, 8*LookBytes), func(_, _ int) { pieces++ }); !errors.Is(err, context.Canceled) || pieces != 1 {
		t.Errorf("got %v after %d pieces, want the end of the context after one", err, pieces)
	}
}

func TestMeterThatIsNilHasNoBound(t *testing.T) {
	var m *Meter
	if err := errors.Join(m.Take(1<<40), m.Step(1<<40)); err != nil {
		t.Error(err)
	}
	m.Give(1)
	m.Settle(m.Mark(), 1)
}
