package audit

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

// maxLine bounds the bytes of a line. [Verifier.Read] fails for a longer one.
const maxLine = 1 << 20

// A Verifier collects lines of the audit log, in any order and with repetitions.
type Verifier struct {
	chains map[string]map[uint64]entry
	lines  int
	wrong  []string
}

// An entry is a line that was read: its own hash, and the hash of the line before that it contains.
type entry struct{ hash, before string }

// Values are quoted in JSON, so no value can look like the beginning of a line. In text, only the
// beginning of the input's line shows where a line begins.
var (
	beginJSON = regexp.MustCompile(`\{"time":"[^"]*","level":"[^"]*","msg":"` + Message + `",`)
	beginText = regexp.MustCompile(`^time=\S+ level=\S+ msg=` + Message + ` `)
	endJSON   = regexp.MustCompile(`,"chain":"([0-9a-f]{16})","line":([0-9]+),"before":"([0-9a-f]*)"\}$`)
	endText   = regexp.MustCompile(` chain=([0-9a-f]{16}) line=([0-9]+) before=(""|[0-9a-f]*)$`)
)

// Read adds the audit lines among the lines of r. It skips other lines of the log. It accepts text
// around the JSON of a line, such as a time that a tool adds, and missing line feeds.
func (v *Verifier) Read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := lines.Bytes()
		begins := beginJSON.FindAllIndex(line, -1)
		if begins == nil && beginText.Match(line) {
			v.line(line, endText)
		}
		for i, begin := range begins {
			end := len(line)
			if i+1 < len(begins) {
				end = begins[i+1][0]
			}
			v.line(line[begin[0]:end], endJSON)
		}
	}
	return lines.Err()
}

// line adds a line of the audit log to its chain. end matches the fields of the chain at the end of
// the line.
func (v *Verifier) line(line []byte, end *regexp.Regexp) {
	line = bytes.TrimRight(line, "\r\t ")
	v.lines++
	parts := end.FindSubmatch(line)
	if parts == nil {
		v.fail("this line belongs to no chain: %.200s", line)
		return
	}
	n, err := strconv.ParseUint(string(parts[2]), 10, 64)
	if err != nil {
		v.fail("this line has no number: %.200s", line)
		return
	}
	v.add(string(parts[1]), n, entry{hashOf(line), string(bytes.Trim(parts[3], `"`))})
}

func (v *Verifier) fail(format string, args ...any) {
	v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
}

// add records a line by chain and number. A different line with the same number is a fault; the same
// line again is not.
func (v *Verifier) add(chain string, n uint64, e entry) {
	if v.chains == nil {
		v.chains = map[string]map[uint64]entry{}
	}
	if v.chains[chain] == nil {
		v.chains[chain] = map[uint64]entry{}
	}
	if other, ok := v.chains[chain][n]; ok && other != e {
		v.fail("chain %s: there are two different lines %d", chain, n)
	}
	v.chains[chain][n] = e
}

// A Report is the result of a verification.
type Report struct {
	Lines  int      // lines of the audit, repeated ones included
	Chains int      // processes that wrote them
	Wrong  []string // the faults, one sentence each
}

// Report checks the lines that were read.
func (v *Verifier) Report() Report {
	wrong := slices.Clone(v.wrong)
	for _, name := range slices.Sorted(maps.Keys(v.chains)) {
		wrong = append(wrong, check(name, v.chains[name])...)
	}
	return Report{Lines: v.lines, Chains: len(v.chains), Wrong: wrong}
}

// check compares each line of a chain with the one before.
func check(name string, lines map[uint64]entry) (wrong []string) {
	last := uint64(0)
	for _, n := range slices.Sorted(maps.Keys(lines)) {
		switch {
		case n != last+1 && n == last+2:
			wrong = append(wrong, fmt.Sprintf("chain %s: line %d is missing", name, last+1))
		case n != last+1:
			wrong = append(wrong, fmt.Sprintf("chain %s: lines %d to %d are missing", name, last+1, n-1))
		case lines[n].before != lines[last].hash:
			wrong = append(wrong, fmt.Sprintf("chain %s: line %d was changed, or line %d was", name, n, max(last, 1)))
		}
		last = n
	}
	return wrong
}
