package builtin

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestTextOfHTML(t *testing.T) {
	for page, want := range map[string]string{
		"":                                       "",
		"plain\n text":                           "plain text",
		"<p>One</p><p>Two <b>bold</b>ly</p>":     "One\n\nTwo boldly",
		"a<br>b<br/>c<BR><br><br>d":              "a\nb\nc\n\nd",
		"<div>a<div>b</div></div>c":              "a\nb\nc",
		"<ul><li>x<li>y</ul>":                    "x\ny",
		"<table><tr><td>1<td>2<tr><td>3</table>": "1 2\n3",
		"<title>t</title><style>p>a{}</style>x<script>if(a<b)'</p>'</script >y": "xy",
		"<script>no end": "",
		"a<!-- <p>b</p> -->c<!doctype html><?xml?>d": "acd",
		"<!-- no end":                         "",
		"1 < 2 &lt; 3 &amp;amp; &#x41;&nbsp;": "1 < 2 < 3 &amp; A\u00a0",
		`<a href="x>y" title='</p>'>link</a>`: "link",
		"<a href=x'y>link</a>":                "link",
		"<pre>a\n  b</pre>c\n d":              "a\n  b\n\nc d",
		"<pre>x<br>y</pre>":                   "x\ny",
		"</pre></pre> a  b":                   "a b",
		"<p":                                  "",
		"a</>b</ x>c<":                        "abc<",
		"<noscript><p>n</p></noscript><template>t</template>v": "v",
		"é<p>ü": "é\n\nü",
	} {
		if got := htmlText(page); got != want {
			t.Errorf("%q: got %q, want %q", page, got, want)
		}
	}
}

// Each part of a page is processed once, even if elements are not closed.
func TestTextOfHostileHTMLTakesLinearTime(t *testing.T) {
	began := time.Now()
	for _, part := range []string{"<script>", "<!--", "<a b='", "</script", "<pre>", "<", "<p><table>", "&amp", "</ "} {
		htmlText(strings.Repeat(part, 1<<20/len(part)))
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

func FuzzHTMLText(f *testing.F) {
	for _, page := range []string{"<p>a</p>", "<script>x</script>y", "<a b='>'>", "&amp;&#0;", "<pre>\n</pre>", "<!-- a", "</", "<td>"} {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		got := htmlText(page)
		if len(got) > 3*len(page) {
			t.Errorf("%d bytes of %d", len(got), len(page))
		}
		if utf8.ValidString(page) && !utf8.ValidString(got) {
			t.Errorf("%q became %q, which is not UTF-8", page, got)
		}
	})
}
