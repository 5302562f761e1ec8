package plan

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/internal/expr"
	"tiltyard/shared/sql/internal/fn/text"
	"tiltyard/shared/sql/pruning"
	"tiltyard/shared/sql/rustregex"
)

// regexp returns the probe for a call of a function with a regular expression. To native
// Lance, such calls of regexp_like are operators, which no index answers, unless they have
// flags that no operator supports.
func (p *probing) regexp(n *expr.Node) *pruning.Probe {
	pattern, ok := constantText(n.Args[1])
	flags := ""
	if ok && len(n.Args) == 3 {
		flags, ok = constantText(n.Args[2])
	}
	if !ok || strings.Trim(flags, "ims") != "" {
		return nil
	}
	texts, err := rustregex.Parse(pattern, flags)
	if err != nil {
		return nil
	}
	if n.Func.Name == "regexp_match" && n.Args[0].Type.ID() != arrow.STRING {
		return nil // the column is cast
	}
	probe := p.on(n.Args[0], pruning.Regexp)
	if probe != nil {
		probe.Texts = texts
	}
	return probe
}

// like returns the probe for a LIKE: an exact prefix probe if the pattern is a prefix, a partial prefix
// probe if it begins with one, or a probe for the texts that a match must contain.
func (p *probing) like(n *expr.Node) (probe *pruning.Probe, partly bool) {
	pattern, ok := constantText(n.Args[1])
	if !ok || n.Not || n.Fold {
		return nil, false
	}
	prefix, partly := prefixOf(pattern)
	test := pruning.Prefix
	if prefix == "" {
		test, partly = pruning.Pattern, true
	}
	if probe = p.on(n.Args[0], test); probe == nil {
		return nil, false
	}
	probe.Texts = textsOfLike(pattern, n.Given)
	probe.Prefix = prefix
	return probe, partly
}

// prefixOf returns the text before the first wildcard of a pattern. partly reports whether
// more than a percent sign follows it. A pattern without wildcards has no prefix.
func prefixOf(pattern string) (prefix string, partly bool) {
	var b strings.Builder
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == '\\' && i+1 < len(runes) && strings.ContainsRune(`%_\`, runes[i+1]):
			i++
			b.WriteRune(runes[i])
		case r == '%' || r == '_':
			return b.String(), r == '_' || i+1 < len(runes)
		default:
			b.WriteRune(r)
		}
	}
	return "", false
}

// shortestRun is the least number of successive letters and digits in a LIKE pattern for which an index is
// used.
const shortestRun = 3

// textsOfLike returns a regular expression for the texts that match a pattern, or nil if the pattern has no
// run of shortestRun letters and digits. As in native Lance, a backslash is an ordinary character here,
// unless it is given as the escape character.
func textsOfLike(pattern string, given bool) *rustregex.Node {
	var parts []*rustregex.Node
	var plain []rune // before the next wildcard
	longest, run := 0, 0
	runes := []rune(pattern)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		escaped := given && r == '\\'
		if escaped {
			if i++; i == len(runes) {
				break
			}
			r = runes[i]
		}
		if !escaped && (r == '%' || r == '_') {
			// Any text is as unknown as any character.
			parts = append(parts, rustregex.Literal(string(plain)), rustregex.Characters(nil))
			plain, run = nil, 0
			continue
		}
		plain = append(plain, r)
		if run++; !text.IsAlphanumeric(r) {
			run = 0
		}
		longest = max(longest, run)
	}
	if longest < shortestRun {
		return nil
	}
	return rustregex.Concat(append(parts, rustregex.Literal(string(plain))))
}
