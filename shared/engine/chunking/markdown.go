package chunking

import (
	"iter"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// splitMarkdown returns each heading with its text, up to the next heading of any level, as a piece.
// Headings are lines that begin with one to six #, outside of fenced code. The path of a piece has the
// titles of its heading and the enclosing ones; it is empty before the first heading.
var splitMarkdown = &Function{
	Name:   "split_markdown",
	Fields: append(slices.Clone(pieceFields), arrow.Field{Name: pathField, Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}),
	new:    func([]any) (cutter, error) { return sections, nil },
}

const pathField = "path"

// sections yields the sections of a Markdown text. titles holds the current title of each heading level; a
// heading clears the titles of the levels below.
func sections(text string) iter.Seq[span] {
	return func(yield func(span) bool) {
		var titles [7]string // by level
		var path []string
		start, fence := 0, ""
		for line := range lines(text) {
			content := strings.TrimRight(text[line.start:line.end], " \t\r\n")
			if fence != "" {
				if closesFence(content, fence) {
					fence = ""
				}
				continue
			}
			if fence = fenceOf(content); fence != "" {
				continue
			}
			level, title := heading(content)
			if level == 0 {
				continue
			}
			if line.start > start && !yield(span{start: start, end: line.start, path: path}) {
				return
			}
			start = line.start
			titles[level] = title
			clear(titles[level+1:])
			path = nil
			for _, t := range titles[1 : level+1] {
				if t != "" {
					path = append(path, t)
				}
			}
		}
		if start < len(text) {
			yield(span{start: start, end: len(text), path: path})
		}
	}
}

// heading returns the level and the title of a heading; level 0 is another line.
func heading(line string) (level int, title string) {
	line, ok := unindented(line)
	if !ok {
		return 0, ""
	}
	rest := strings.TrimLeft(line, "#")
	level = len(line) - len(rest)
	if level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0, ""
	}
	title = strings.Trim(rest, " \t")
	if cut := strings.TrimRight(title, "#"); cut == "" || strings.HasSuffix(cut, " ") || strings.HasSuffix(cut, "\t") {
		title = strings.TrimRight(cut, " \t")
	}
	return level, title
}

// fenceOf returns the signs that begin a block of code, three or more, and "" for another line.
func fenceOf(line string) string {
	line, ok := unindented(line)
	if !ok || !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~") {
		return ""
	}
	rest := strings.TrimLeft(line, line[:1])
	if line[0] == '`' && strings.Contains(rest, "`") {
		return "" // code within a line
	}
	return line[:len(line)-len(rest)]
}

// closesFence reports whether a line ends a block of code.
func closesFence(line, fence string) bool {
	line, ok := unindented(line)
	return ok && strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == ""
}

// unindented returns a line without its indentation of up to three blanks. It returns false for more
// blanks, which make it code.
func unindented(line string) (string, bool) {
	rest := strings.TrimLeft(line, " ")
	return rest, len(line)-len(rest) <= 3
}
