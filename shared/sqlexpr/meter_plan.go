package sqlexpr

import "context"

// Bounds of the constants that Bind computes, in bytes and in steps of work: of one of them, and
// of all of an expression.
const (
	maxFolded    = 4 << 20
	maxFoldWork  = 1 << 23
	maxFoldedAll = 32 << 20
	maxPlanWork  = 1 << 28
)

// maxPrograms bounds the instructions of all regular expressions of an expression that are
// constants.
const maxPrograms = 1 << 17

// planMeter is a meter for what Bind computes.
func planMeter(ctx context.Context) *meter {
	m := newMeter(ctx)
	m.plan = maxPlanWork
	return m
}

// mayFold says whether there is work left for constants.
func (m *meter) mayFold() bool { return m.plan > 0 }

// fold accounts for f, which computes a constant.
func (m *meter) fold(f func() error) error {
	m.begin(2, maxFolded) // as if of more rows than one, so that what is too much is only that
	m.left = maxFoldWork
	work := m.work + m.left
	err := f()
	m.plan -= work - m.work - m.left
	return err
}

// keepConstant puts a constant into use for good, unless it is too much.
func (m *meter) keepConstant(bytes int64) bool {
	if bytes <= 64 {
		return true
	}
	if m.kept+bytes > maxFoldedAll || bytes > maxFolded {
		return false
	}
	m.made = 0
	if m.take(int(bytes)) != nil {
		return false
	}
	m.made = 0
	m.kept += bytes
	return true
}

// keepProgram puts a compiled regular expression of so many instructions into use for good.
func (m *meter) keepProgram(instructions, bytes int) error {
	if m.programs += instructions; m.programs > maxPrograms {
		return errorf(ErrTooLarge, noPos, "regular expressions of more than %d steps in all", maxPrograms)
	}
	m.made, m.most = 0, 0
	err := m.take(bytes)
	m.kept += m.made
	m.made = 0
	return err
}

// settlePlan leaves no more taken than what is kept.
func (m *meter) settlePlan() {
	m.share.Give(m.taken - m.kept)
	m.taken = m.kept
}
