package plan

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"tiltyard/shared/sql/expr"
	"tiltyard/shared/sql/fn/text"
	"tiltyard/shared/sql/rustregex"
)

// regexp returns the probe that is a call of a function with a regular expression. Such
// calls of regexp_like are operators to native Lance which no index helps, unless they have
// flags that no operator has.
func (p *probing) regexp(n *expr.Node) *Probe {
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
		return nil // it is cast
	}
	probe := p.on(n.Args[0], ProbeRegexp)
	if probe != nil {
		probe.texts = texts
	}
	return probe
}

// like returns the probe for what a LIKE says: a prefix and no more, the prefix of what it
// says, or no more than that some text is somewhere in it.
func (p *probing) like(n *expr.Node) (probe *Probe, partly bool) {
	pattern, ok := constantText(n.Args[1])
	if !ok || n.Not || n.Fold {
		return nil, false
	}
	prefix, partly := prefixOf(pattern)
	test := ProbePrefix
	if prefix == "" {
		test, partly = ProbePattern, true
	}
	if probe = p.on(n.Args[0], test); probe == nil {
		return nil, false
	}
	probe.texts = textsOfLike(pattern, n.Given)
	return probe, partly
}

// prefixOf returns the text before the first wildcard of a pattern, and whether there is more
// than a percent sign behind it. A pattern without wildcards has no prefix.
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

// shortestRun is how many letters and digits a LIKE must have one after another.
const shortestRun = 3

// textsOfLike returns what texts match a pattern, nil if it has no long run of letters and
// digits. To native Lance a backslash is here one like other characters, unless it is given
// as the escape character.
func textsOfLike(pattern string, given bool) *rustregex.Node {
	var parts []*rustregex.Node
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
			run = 0
			parts = append(parts, rustregex.Characters(nil)) // any text is as unknown as any character
			continue
		}
		parts = append(parts, rustregex.Literal(string(r)))
		if run++; !text.IsAlphanumeric(r) {
			run = 0
		}
		longest = max(longest, run)
	}
	if longest < shortestRun {
		return nil
	}
	return rustregex.Concat(parts)
}
