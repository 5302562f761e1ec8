package tracing

import "testing"

func FuzzLink(f *testing.F) {
	for _, text := range []string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff-more"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, ok := parseLink(text)
		if !ok {
			return
		}
		again, ok := parseLink(l.String())
		if !ok || again != l || len(l.String()) != linkBytes || l.below().trace != l.trace {
			t.Errorf("%q is read as %+v, and its text %q as %+v", text, l, l, again)
		}
	})
}
