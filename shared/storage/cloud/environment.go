package cloud

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// FromEnv reads the environment alone, as the functions of AWS have it: region, credentials, endpoints, certificates
// and the choice of FIPS. Package profiles also reads files and asks other sources of credentials, for which a program needs the clients of
// more services.
func FromEnv() (aws.Config, error) {
	for _, name := range unread {
		if os.Getenv(name) != "" {
			return aws.Config{}, errors.New(name + " is set, which functions do not read")
		}
	}
	client, err := trusting(Dialing(), os.Getenv("AWS_CA_BUNDLE"))
	if err != nil {
		return aws.Config{}, fmt.Errorf("AWS_CA_BUNDLE: %w", err)
	}
	cfg := aws.Config{
		Region:        first("AWS_REGION", "AWS_DEFAULT_REGION"),
		Credentials:   aws.NewCredentialsCache(environment{}),
		HTTPClient:    NewHTTPClient(client),
		ConfigSources: []any{environment{}},
	}
	if url := os.Getenv("AWS_ENDPOINT_URL"); url != "" {
		cfg.BaseEndpoint = &url
	}
	return cfg, nil
}

// unread are variables that would change the requests, and that [FromEnv] does not read.
var unread = []string{"AWS_USE_DUALSTACK_ENDPOINT", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
	"AWS_REQUEST_CHECKSUM_CALCULATION", "AWS_RESPONSE_CHECKSUM_VALIDATION"}

// trusting returns the client with the certificates of a file in place of those of the machine, unless it is empty.
func trusting(client *awshttp.BuildableClient, file string) (*awshttp.BuildableClient, error) {
	if file == "" {
		return client, nil
	}
	certificates, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(certificates) {
		return nil, errors.New("the file has no certificate in PEM")
	}
	return client.WithTransportOptions(func(t *http.Transport) {
		if t.TLSClientConfig == nil {
			t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		t.TLSClientConfig.RootCAs = roots
	}), nil
}

// first returns the value of the first variable that is set.
func first(names ...string) string {
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			return value
		}
	}
	return ""
}

// An environment is a source of credentials, and one of settings to the clients of the SDK.
type environment struct{}

// Retrieve returns the credentials of the process. They last as long as it does.
func (environment) Retrieve(context.Context) (aws.Credentials, error) {
	found := aws.Credentials{
		AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"),
		SessionToken: os.Getenv("AWS_SESSION_TOKEN"), Source: "environment",
	}
	if !found.HasKeys() {
		return aws.Credentials{}, errors.New("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, the only credentials of functions")
	}
	return found, nil
}

// GetServiceBaseEndpoint returns the endpoint of one service, such as AWS_ENDPOINT_URL_S3.
func (environment) GetServiceBaseEndpoint(_ context.Context, service string) (url string, found bool, err error) {
	name := strings.ToUpper(strings.ReplaceAll(service, " ", "_"))
	url = os.Getenv("AWS_ENDPOINT_URL_" + name)
	return url, url != "", nil
}

// GetUseFIPSEndpoint returns AWS_USE_FIPS_ENDPOINT.
func (environment) GetUseFIPSEndpoint(context.Context) (state aws.FIPSEndpointState, found bool, err error) {
	text := os.Getenv("AWS_USE_FIPS_ENDPOINT")
	if text == "" {
		return aws.FIPSEndpointStateUnset, false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return aws.FIPSEndpointStateUnset, false, errors.New("AWS_USE_FIPS_ENDPOINT must be true or false")
	}
	if on {
		return aws.FIPSEndpointStateEnabled, true, nil
	}
	return aws.FIPSEndpointStateDisabled, true, nil
}
