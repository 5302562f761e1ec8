package syntax

// Limits bounds the texts that Parse accepts, so that no text can exhaust the stack or the
// memory. A zero field means the default.
type Limits struct {
	Bytes  int // length of the text; default 64 KiB
	Depth  int // nesting of parentheses, calls and prefix operators; default 64
	Nodes  int // operators, calls, columns and literals outside of IN lists; default 4,096
	InList int // items of one IN list; default 10,000
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, def int) {
		if *v <= 0 {
			*v = def
		}
	}
	set(&l.Bytes, 64<<10)
	set(&l.Depth, 64)
	set(&l.Nodes, 4096)
	set(&l.InList, 10_000)
	return l
}
