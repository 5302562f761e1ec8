package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A figure is one measure of a tree, with its target.
type figure struct {
	name, now, target string
	met               bool
	where             string // the files or packages that determine it, if they are few
}

// figures computes the figures of a tree. readme is the text of its front page.
func (t *tree) figures(readme []byte) []figure {
	lines, files, checks := map[string]int{}, map[string]int{}, map[string]int{}
	var untested []string
	for name, p := range t.packages {
		if p.files > 0 {
			lines[name], files[name], checks[name] = p.lines, p.files, p.errorChecks
		}
		if p.tests == 0 && !p.kit && p.lines > 100 { // shorter packages are wiring of programs
			untested = append(untested, name)
		}
	}
	slices.Sort(untested)
	var code, tests, external, testFiles, written, comments int
	var long []string
	for _, f := range t.files {
		switch {
		case !f.test:
			code, written, comments = code+f.lines, written+f.written, comments+f.comments
		case f.external:
			external++
			fallthrough
		default:
			testFiles++
			tests += f.lines
		}
		if f.lines > 500 {
			long = append(long, f.name)
		}
	}
	words := len(bytes.Fields(readme))
	return append([]figure{
		atMost("lines per package, nine in ten", nineInTen(lines), 4000, largest(lines)),
		atMost("files per package, nine in ten", nineInTen(files), 12, largest(files)),
		atMost("files over 500 lines", len(long), 0, strings.Join(long, ", ")),
		percent("comment lines to lines of code", comments, written, 20, 30),
		percent("lines of tests to lines of code", tests, code, 80, 150),
		percent("test files in external packages", external, testFiles, 40, 100),
		atMost("packages over 100 lines without a test", len(untested), 0, strings.Join(untested, ", ")),
		perThousand("errors.Is and As per 1,000 lines", sum(checks), code, 2),
		perThousand("errors.Is and As per 1,000 lines of the catalog", checks["shared/catalog"], lines["shared/catalog"], 2),
		atMost("contexts in structs", len(t.contexts), 0, strings.Join(t.contexts, ", ")),
		atMost("words of README.md", words, 900, ""),
	}, t.structure()...)
}

// atMost returns a figure for a count with an upper limit.
func atMost(name string, now, limit int, where string) figure {
	return figure{name, fmt.Sprint(now), fmt.Sprintf("at most %d", limit), now <= limit, where}
}

// percent returns a figure for a percentage with a lower and an upper limit.
func percent(name string, part, whole, low, high int) figure {
	now := 100 * float64(part) / float64(max(whole, 1))
	f := figure{name: name, now: fmt.Sprintf("%.0f %%", now), target: fmt.Sprintf("%d to %d %%", low, high)}
	f.met = now >= float64(low)-0.5 && now < float64(high)+0.5 // compare the rounded number
	return f
}

// perThousand returns a figure for a count per thousand lines, with an upper limit.
func perThousand(name string, count, lines int, limit float64) figure {
	now := 1000 * float64(count) / float64(max(lines, 1))
	return figure{name, fmt.Sprintf("%.1f", now), fmt.Sprintf("at most %.1f", limit), now <= limit, ""}
}

// nineInTen returns the 90th percentile of counts.
func nineInTen(counts map[string]int) int {
	sorted := slices.Sorted(maps.Values(counts))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(9*len(sorted)+9)/10-1]
}

// largest returns the name with the greatest count.
func largest(counts map[string]int) string {
	name := ""
	for _, other := range slices.Sorted(maps.Keys(counts)) {
		if name == "" || counts[other] > counts[name] {
			name = other
		}
	}
	return fmt.Sprintf("%s has %d", name, counts[name])
}

func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}
