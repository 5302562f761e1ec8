package executor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/protocol"
)

func TestParse(t *testing.T) {
	const arn = "arn:aws:lambda:eu-central-1:123456789012:function:run:live"
	got, err := Parse("a=exec:/bin/run, b=https://x.example/p python=3.12  packages=numpy|Torch* backends=Docker*|cloudpickle gpu concurrency=8 timeout=90s payload=4MiB key=secret:ops$key," +
		"c=lambda:" + arn + " payload=1KiB,d=http://127.0.0.1:9 key=file:/k")
	want := []Config{
		{Name: "a", Address: "exec:/bin/run", Concurrency: 4, Timeout: time.Minute, PayloadBytes: 16 << 20},
		{
			Name: "b", Address: "https://x.example/p", Python: "3.12", Packages: []string{"numpy", "Torch*"}, Backends: []string{"Docker*", "cloudpickle"}, GPU: true,
			Concurrency: 8, Timeout: 90 * time.Second, PayloadBytes: 4 << 20, Key: "secret:ops$key",
		},
		{Name: "c", Address: "lambda:" + arn, Concurrency: 4, Timeout: time.Minute, PayloadBytes: 1 << 10},
		{Name: "d", Address: "http://127.0.0.1:9", Concurrency: 4, Timeout: time.Minute, PayloadBytes: 16 << 20, Key: "file:/k"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if got[2].ARN() != arn || got[1].ARN() != "" || !got[0].IsCommand() || got[1].IsCommand() {
		t.Errorf("got ARN %q", got[2].ARN())
	}
}

func TestTextsThatAreNoExecutors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                         "is empty",
		"a=exec:/x,":                               "is empty",
		"=exec:/x":                                 "no name",
		"a b=exec:/x":                              "unknown",
		"a=exec:/x,a=exec:/y":                      "twice",
		"a=exec:x":                                 "absolute path",
		"a=exec:/x key=file:/k":                    "have a key",
		"a=lambda:run":                             "ARN",
		"a=lambda:arn:aws:s3:::bucket":             "ARN",
		"a=ftp://x":                                "https://",
		"a=http://x.example key=file:/k":           "https://",
		"a=https://u:p@x.example":                  "https://",
		"a=https://x.example/?q":                   "https://",
		"a=https://x.example":                      "needs key",
		"a=https://x.example key=word":             "secret:",
		"a=https://x.example key=file:k":           "absolute",
		"a=exec:/x python=3":                       "3.12",
		"a=exec:/x python=3.12 python=3.1":         "twice",
		"a=exec:/x gpu=yes":                        "no value",
		"a=exec:/x packages=":                      "pattern",
		"a=exec:/x packages=[":                     "pattern",
		"a=exec:/x backends=":                      "pattern",
		"a=exec:/x concurrency=0":                  "1 to",
		"a=exec:/x timeout=1h":                     "15m",
		"a=exec:/x payload=1":                      "1KiB",
		"a=exec:/x payload=9223372036854775807KiB": "1KiB",
		"a=exec:/x payload=257MiB":                 "256MiB",
		"a=exec:/x colour=red":                     "unknown",
	} {
		if got, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v; want an error with %q", text, got, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a=exec:/x python=3.12 packages=a|b,b=https://x key=secret:k payload=1MiB timeout=1s gpu")
	f.Fuzz(func(t *testing.T, text string) {
		configs, err := Parse(text)
		if err != nil {
			return
		}
		for _, c := range configs {
			if c.Name == "" || c.Concurrency < 1 || c.Timeout < time.Second || c.PayloadBytes < 1<<10 || c.ARN() == "" && !c.IsCommand() && c.Key == "" {
				t.Errorf("%q: %+v", text, c)
			}
		}
	})
}

func TestExecutorsAreChosenByWhatTheyAccept(t *testing.T) {
	configs, err := Parse("plain=exec:/a python=3.11,science=exec:/b python=3.12 packages=numpy|pandas==2.*|scikit-learn|torch*,big=exec:/c python=3.12 packages=torch gpu,other=exec:/d packages=*")
	if err != nil {
		t.Fatal(err)
	}
	for runtime, want := range map[string]string{
		`{"kind":"python","python_version":"3.11","environment":{"kind":"pip","packages":[]}}`:                             "plain",
		`{"kind":"python","python_version":"3.11.7"}`:                                                                      "plain",
		`{"kind":"python","python_version":"3.1"}`:                                                                         "no executor of this deployment runs Python 3.1",
		`{"kind":"python","python_version":"3.11","environment":{"packages":["numpy"]}}`:                                   "runs Python 3.11 with numpy",
		`{"kind":"python","python_version":"3.12","environment":{"packages":["numpy==2.2.0","Scikit_Learn[all]>=1, <2"]}}`: "science",
		`{"kind":"python","python_version":"3.12","environment":{"packages":["pandas==2.3"]}}`:                             "science",
		`{"kind":"python","python_version":"3.12","environment":{"packages":["pandas"]}}`:                                  "with pandas",
		`{"kind":"python","python_version":"3.12","environment":{"packages":["pandas==1.0"]}}`:                             "with pandas==1.0",
		`{"kind":"python","python_version":"3.12","environment":{"packages":["numpy @ https://x.example"]}}`:               "with numpy @",
		`{"kind":"python","python_version":"3.12","environment":{"packages":["numpy; sys_platform=='x'"]}}`:                "with numpy;",
		`{"kind":"python_v2","python_version":"3.12","environment":{"packages":["torch==2"]},"gpu":true}`:                  "big",
		`{"kind":"python_v2","python_version":"3.11","gpu":true}`:                                                          "and a GPU",
		`{"kind":"executor","executor":"other"}`:                                                                           "other",
		`{"kind":"executor","executor":"none"}`:                                                                            `runs functions of the executor "none"`,
		`{"kind":"wasm"}`:                                                                                                  `runtime "wasm"`,
		`[]`:                                                                                                               "cannot be read",
	} {
		at, _, err := match(configs, []byte(runtime))
		got := ""
		if err == nil {
			got = configs[at].Name
		} else {
			got = err.Error()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: got %s, want %s", runtime, got, want)
		}
		checked := Check(configs)([]byte(runtime))
		if known := runtime != `{"kind":"wasm"}`; known && (checked == nil) != (err == nil) || !known && checked != nil {
			t.Errorf("%s: the check says %v, and the choice %v", runtime, checked, err)
		}
		var refusal *protocol.Error
		if errors.As(checked, &refusal) && refusal.Code == protocol.Unsupported && !strings.Contains(refusal.Detail, "TILTYARD_EXECUTOR") {
			t.Errorf("%s: %v names no setting", runtime, checked)
		}
	}
}
