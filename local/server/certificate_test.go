package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// writeCertificate writes a certificate with a serial number and its key.
func writeCertificate(t *testing.T, chain, key string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{chain: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		later := time.Unix(serial, 0) // so that the time changes in any case
		if err := os.Chtimes(name, later, later); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCertificateIsRenewed(t *testing.T) {
	dir := t.TempDir()
	chain, key := filepath.Join(dir, "chain.pem"), filepath.Join(dir, "key.pem")
	logger := slog.New(slog.DiscardHandler)
	if config, err := tlsOf("", "", logger); config != nil || err != nil {
		t.Errorf("without files: %v, %v", config, err)
	}
	if _, err := tlsOf(chain, "", logger); err == nil {
		t.Error("a certificate without its key is taken")
	}
	if _, err := tlsOf(chain, key, logger); err == nil {
		t.Error("files that do not exist are taken")
	}
	writeCertificate(t, chain, key, 1)
	config, err := tlsOf(chain, key, logger)
	if err != nil {
		t.Fatal(err)
	}
	want := func(serial int64) {
		t.Helper()
		c, err := config.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.Leaf.SerialNumber.Int64() != serial {
			t.Errorf("the certificate %d is used, want %d", c.Leaf.SerialNumber, serial)
		}
	}
	want(1)
	writeCertificate(t, chain, key, 2)
	want(2)
	if err := os.WriteFile(key, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	want(2)
	writeCertificate(t, chain, key, 3)
	want(3)
}
