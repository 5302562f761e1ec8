package meter

import (
	"context"

	"tiltyard/shared/sql"
)

// Limits for constants that Bind computes, in bytes and in units of work: per constant, and for all
// constants of an expression.
const (
	maxFolded    = 4 << 20
	maxFoldWork  = 1 << 23
	MaxFoldedAll = 32 << 20
	maxPlanWork  = 1 << 28
)

// maxPrograms bounds the instructions of all constant regular expressions of an expression.
const maxPrograms = 1 << 17

// ForPlan returns a meter for the work of Bind.
func ForPlan(ctx context.Context) *Meter {
	m := New(ctx)
	m.plan = maxPlanWork
	return m
}

// MayFold reports whether the work for constant folding is not used up.
func (m *Meter) MayFold() bool { return m.plan > 0 }

// Fold accounts for f, which computes a constant.
func (m *Meter) Fold(f func() error) error {
	m.Begin(2, maxFolded) // as for several rows, so that exceeding the limit is ErrNarrow
	m.left = maxFoldWork
	work := m.work + m.left
	err := f()
	m.plan -= work - m.work - m.left
	return err
}

// KeepConstant keeps a constant in use until the end, and reports whether it is small enough.
func (m *Meter) KeepConstant(bytes int64) bool {
	if bytes <= 64 {
		return true
	}
	if m.kept+bytes > MaxFoldedAll || bytes > maxFolded {
		return false
	}
	m.made = 0
	if m.Take(int(bytes)) != nil {
		return false
	}
	m.made = 0
	m.kept += bytes
	return true
}

// KeepProgram keeps a compiled regular expression of the given size in use until the end.
func (m *Meter) KeepProgram(instructions, bytes int) error {
	if m.programs += instructions; m.programs > maxPrograms {
		return sql.Errorf(sql.ErrTooLarge, sql.NoPos, "regular expressions of more than %d steps in all", maxPrograms)
	}
	m.made, m.most = 0, 0
	err := m.Take(bytes)
	m.kept += m.made
	m.made = 0
	return err
}

// SettlePlan releases all bytes except those of kept constants.
func (m *Meter) SettlePlan() {
	m.share.Give(m.taken - m.kept)
	m.taken = m.kept
}
