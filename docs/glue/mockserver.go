// Package mockserver gives each test a sandbox: a fresh copy of the service with its own address, keys, data and clock.
package mockserver

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"testing"
	"time"
)

type M = map[string]any // an object of JSON
var server, word = os.Getenv("MOCKSERVER_SERVER"), ""

// init starts a server that ends with this process, unless MOCKSERVER_SERVER names one.
func init() {
	if server == "" {
		command := exec.Command("mockserver", "serve", "--port=0", "--freeze=2026-03-01T12:00:00Z", "--failures-dir=.mockserver/failures", "--log-format=off", "--exit-with-parent")
		command.Stderr = os.Stderr
		if output, err := command.StdoutPipe(); err == nil && command.Start() == nil {
			fmt.Fscan(output, &word, &word, &word, &word, &server) // mockserver VERSION listens on URL
		}
	}
}

// Sandbox is the service of one test.
type Sandbox struct {
	t                             testing.TB
	BaseURL, SecretKey, PublicKey string
}

// New makes a sandbox that ends with the test. A rule that never fired fails the test, and a failed test logs the report.
func New(t testing.TB, settings M) *Sandbox {
	if server == "" {
		t.Fatal("the command mockserver does not start")
	}
	made := (&Sandbox{t, server, "", ""}).Control("POST", "/sandboxes", settings)
	s := &Sandbox{t, made["baseUrl"].(string), made["secretKey"].(string), made["publicKey"].(string)}
	t.Cleanup(func() {
		defer s.Control("DELETE", "/sandboxes/"+made["sandboxId"].(string), nil)
		for _, failure := range s.Control("GET", "/check", nil)["failures"].([]any) {
			t.Error(failure.(M)["message"])
		}
		if name := url.QueryEscape(t.Name()); t.Failed() || bytes.Contains(debug.Stack(), []byte("\npanic(")) {
			t.Log(s.Control("POST", "/report?failure="+name+"&name="+name, nil)["text"])
		}
	})
	return s
}

// Control runs a command of the control plane; nil is no body.
func (s *Sandbox) Control(method, path string, body any) (answer M) {
	s.t.Helper()
	content := new(bytes.Buffer)
	if body != nil {
		json.NewEncoder(content).Encode(body)
	}
	request, _ := http.NewRequest(method, s.BaseURL+"/_mock"+path, content)
	request.Header = http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}, "Authorization": {"Bearer " + os.Getenv("MOCKSERVER_TOKEN")}}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if json.NewDecoder(response.Body).Decode(&answer); response.StatusCode >= 400 || path == "/journal/verify" && answer["ok"] == false {
		s.t.Fatalf("%s %s: %s", method, path, answer["message"])
	}
	return answer
}

// Receive registers an endpoint, and returns the events that are signed and recent.
func (s *Sandbox) Receive() <-chan M {
	events, key := make(chan M, 100), []byte("a key for the tests of one sandbox")
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seconds, _ := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(r.Header.Get("webhook-id") + "." + r.Header.Get("webhook-timestamp") + "." + string(body)))
		isSigned := hmac.Equal([]byte(r.Header.Get("webhook-signature")), []byte("v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil))))
		if event := (M{}); isSigned && time.Since(time.Unix(seconds, 0)) < 5*time.Minute && json.Unmarshal(body, &event) == nil {
			events <- event
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	s.t.Cleanup(hook.Close)
	s.Control("POST", "/webhooks", M{"url": hook.URL, "secret": "whsec_" + base64.StdEncoding.EncodeToString(key)})
	return events
}
