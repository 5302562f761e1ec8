package stsvendor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/google/go-cmp/cmp"

	"tiltyard/shared/tables/vending"
)

var testNow = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// fakeSTS answers AssumeRole with credentials that expire after lasts, and remembers what it
// was asked.
type fakeSTS struct {
	asked  []url.Values
	lasts  time.Duration
	status int
}

func (f *fakeSTS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	f.asked = append(f.asked, r.Form)
	if f.status != 0 {
		w.WriteHeader(f.status)
		_, _ = fmt.Fprint(w, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>`)
		return
	}
	_, _ = fmt.Fprintf(w, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>key%d</AccessKeyId>
<SecretAccessKey>secret</SecretAccessKey><SessionToken>session</SessionToken><Expiration>%s</Expiration></Credentials>
</AssumeRoleResult></AssumeRoleResponse>`, len(f.asked), testNow.Add(f.lasts).Format(time.RFC3339))
}

func openRole(t *testing.T, f *fakeSTS, now func() time.Time) *Vendor {
	t.Helper()
	return openTagged(t, f, now, false)
}

func openTagged(t *testing.T, f *fakeSTS, now func() time.Time, tags bool) *Vendor {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	config := aws.Config{
		Region: "eu-central-1", BaseEndpoint: &server.URL, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		Credentials: credentials.NewStaticCredentialsProvider("own", "own", ""),
	}
	role, err := Open(config, vending.Role{
		ARN: "arn:aws:iam::123456789012:role/vend", Region: "eu-central-1", Endpoint: "http://127.0.0.1:9000", Tags: tags, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return role.(*Vendor)
}

func TestRoleVendsWhatSTSSays(t *testing.T) {
	f := &fakeSTS{lasts: 40 * time.Minute}
	role := openRole(t, f, func() time.Time { return testNow })
	got, err := role.Vend(t.Context(), vending.Request{Location: "s3://lake/root/t-1.lance", Holder: "https://iss#ada"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"aws_access_key_id": "key1", "aws_secret_access_key": "secret", "aws_session_token": "session",
		"aws_region": "eu-central-1", "aws_endpoint": "http://127.0.0.1:9000", "allow_http": "true",
		"expires_at_millis": strconv.FormatInt(testNow.Add(40*time.Minute).UnixMilli(), 10),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("storage options (-want +got):\n%s", diff)
	}
	form := f.asked[0]
	if form.Get("RoleArn") != "arn:aws:iam::123456789012:role/vend" || form.Get("DurationSeconds") != "3600" || form.Get("RoleSessionName") != "tiltyard-https---iss-ada" {
		t.Errorf("asked for %v", form)
	}
	policy, _ := sessionPolicy("aws", place{"lake", "root/t-1.lance"}, false)
	if form.Get("Policy") != policy {
		t.Errorf("policy is %s, want %s", form.Get("Policy"), policy)
	}
	if tags := tagsAsked(form); len(tags) > 0 {
		t.Errorf("tags are %v, want none, because no option asks for them", tags)
	}
}

// Credentials are handed out again to the same holder for the same, while they last.
func TestRoleAsksAgainWhenItMust(t *testing.T) {
	f, now := &fakeSTS{lasts: time.Hour}, testNow
	role := openRole(t, f, func() time.Time { return now })
	base := vending.Request{Table: []string{"oak", "t"}, Location: "s3://lake/t", Holder: "ada"}
	steps := []struct {
		name   string
		after  time.Duration
		change func(*vending.Request)
		asked  int
	}{
		{"first", 0, func(*vending.Request) {}, 1},
		{"again", 0, func(*vending.Request) {}, 1},
		{"to write", 0, func(r *vending.Request) { r.Write = true }, 2},
		{"another table", 0, func(r *vending.Request) { r.Location += "2" }, 3},
		{"another holder", 0, func(r *vending.Request) { r.Holder = "eve" }, 4},
		{"a holder whose session is called the same", 0, func(r *vending.Request) { r.Holder = "e e" }, 5},
		{"another such", 0, func(r *vending.Request) { r.Holder = "e#e" }, 6},
		{"a renamed table", 0, func(r *vending.Request) { r.Table = []string{"oak", "u"} }, 7},
		{"with half of the time left", duration - leastLeft, func(*vending.Request) {}, 7},
		{"with less", time.Second, func(*vending.Request) {}, 8},
		{"not in S3", 0, func(r *vending.Request) { r.Location = "file:///t" }, 8},
		{"a whole bucket", 0, func(r *vending.Request) { r.Location = "s3://lake/" }, 8},
	}
	for _, s := range steps {
		request := base
		s.change(&request)
		now = now.Add(s.after)
		options, err := role.Vend(t.Context(), request)
		if err != nil || len(f.asked) != s.asked {
			t.Errorf("%s: asked %d times, want %d (%v)", s.name, len(f.asked), s.asked, err)
		}
		clear(options) // is ours
	}
}

// tagsAsked returns the tags of a request for credentials, by their keys.
func tagsAsked(form url.Values) map[string]string {
	tags := map[string]string{}
	for n := 1; form.Has(fmt.Sprintf("Tags.member.%d.Key", n)); n++ {
		tags[form.Get(fmt.Sprintf("Tags.member.%d.Key", n))] = form.Get(fmt.Sprintf("Tags.member.%d.Value", n))
	}
	return tags
}

func TestSessionsHaveTags(t *testing.T) {
	long := strings.Repeat("x", maxTagValue)
	for _, c := range []struct {
		name   string
		table  []string
		holder string
		want   map[string]string
	}{
		{"a table of a namespace", []string{"acme", "eu", "orders"}, "https://iss#ada",
			map[string]string{tenantTag: "acme", tableTag: "acme/eu/orders", principalTag: "https://iss=23ada"}},
		{"a table of the root", []string{"orders"}, "ada", map[string]string{tableTag: "orders", principalTag: "ada"}},
		{"names with what separates names and escapes", []string{"a/b=c", "t*?"}, "ü $",
			map[string]string{tenantTag: "a=2Fb=3Dc", tableTag: "a=2Fb=3Dc/t=2A=3F", principalTag: "=C3=BC=20=24"}},
		{"the longest value", []string{long, "t"}, long, map[string]string{tenantTag: long, principalTag: long}},
		{"longer values", []string{long + "x", "t"}, long + "x", map[string]string{}},
	} {
		f := &fakeSTS{lasts: time.Hour}
		role := openTagged(t, f, func() time.Time { return testNow }, true)
		if _, err := role.Vend(t.Context(), vending.Request{Table: c.table, Location: "s3://lake/t", Holder: c.holder}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, tagsAsked(f.asked[0])); diff != "" {
			t.Errorf("%s: tags (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestRoleTellsWhenThereIsNone(t *testing.T) {
	role := openRole(t, &fakeSTS{status: http.StatusForbidden}, time.Now)
	if options, err := role.Vend(t.Context(), vending.Request{Location: "s3://lake/t"}); err == nil || options != nil {
		t.Errorf("Vend = %v, %v, want an error", options, err)
	}
	for _, arn := range []string{"", "vend", "arn:aws:iam::1:user/u", "arn:aws:s3:::role/x"} {
		if _, err := Open(aws.Config{}, vending.Role{ARN: arn}); err == nil {
			t.Errorf("OpenRole(%q) succeeded, want an error", arn)
		}
	}
}

func TestSessionPolicyOpensOneTable(t *testing.T) {
	got, err := sessionPolicy("aws-cn", place{"lake", "root/a-1"}, true)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Statement":[` +
		`{"Effect":"Allow","Action":["s3:GetObject","s3:PutObject","s3:DeleteObject","s3:AbortMultipartUpload"],"Resource":"arn:aws-cn:s3:::lake/root/a-1/*"},` +
		`{"Effect":"Allow","Action":["s3:ListBucket"],"Resource":"arn:aws-cn:s3:::lake","Condition":{"StringLike":{"s3:prefix":"root/a-1/*"}}},` +
		`{"Effect":"Allow","Action":["kms:Decrypt","kms:GenerateDataKey"],"Resource":"*","Condition":{"StringLike":{"kms:ViaService":"s3.*"}}}],` +
		`"Version":"2012-10-17"}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	read, _ := sessionPolicy("aws", place{"lake", "t"}, false)
	for _, action := range []string{"Put", "Delete", "Abort", "GenerateDataKey"} {
		if strings.Contains(read, action) {
			t.Errorf("who reads may %s: %s", action, read)
		}
	}
	if _, err := sessionPolicy("aws", place{"lake", strings.Repeat("x", 1000)}, true); err == nil {
		t.Error("a policy longer than STS takes was made")
	}
}

// What IAM would read as a wildcard or a variable in a name stands for itself.
func TestSessionPolicyTakesNamesLiterally(t *testing.T) {
	at, ok := parsePlace("s3://lake/a%2A/$%7Baws:userid%7D/%3F")
	if !ok || at.prefix != "a*/${aws:userid}/?" {
		t.Fatalf("place is %+v", at)
	}
	text, err := sessionPolicy("aws", at, false)
	if err != nil {
		t.Fatal(err)
	}
	var policy struct{ Statement []statement }
	if err := json.Unmarshal([]byte(text), &policy); err != nil {
		t.Fatal(err)
	}
	if got, want := policy.Statement[0].Resource, "arn:aws:s3:::lake/a${*}/${$}{aws:userid}/${?}/*"; got != want {
		t.Errorf("resource is %s, want %s", got, want)
	}
}
