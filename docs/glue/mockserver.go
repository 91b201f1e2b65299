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
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

type M = map[string]any // an object of JSON

var server, startError = os.Getenv("MOCKSERVER_SERVER"), error(nil)

// init starts a server that ends with this process, unless MOCKSERVER_SERVER has the address of one.
func init() {
	if server != "" {
		return
	}
	command := exec.Command("mockserver", "serve", "--port=0", "--freeze=2026-03-01T12:00:00Z", "--failures-dir=.mockserver/failures", "--log-format=off", "--exit-with-parent")
	command.Stderr = os.Stderr
	output, _ := command.StdoutPipe()
	if startError = command.Start(); startError == nil {
		_, startError = fmt.Fscanf(output, "mockserver %s listens on %s", new(string), &server)
	}
}

// Sandbox is the service of one test.
type Sandbox struct {
	t                             testing.TB
	name                          string
	BaseURL, SecretKey, PublicKey string
}

// New makes a sandbox that ends with the test. A rule that never fired fails the test, and a failed test logs the report.
func New(t testing.TB, settings M) *Sandbox {
	t.Helper()
	if server == "" {
		t.Fatalf("mockserver serve did not start (%v); expected the command mockserver on the PATH, or an address in MOCKSERVER_SERVER", startError)
	}
	made := (&Sandbox{t: t, BaseURL: server}).Control("POST", "/sandboxes", settings)
	caller, _, _, _ := runtime.Caller(1)
	folder, function := path.Split(runtime.FuncForPC(caller).Name())
	name, _, _ := strings.Cut(function, ".") // of the package: two may have tests of one name
	s := &Sandbox{t, folder + name + "::" + t.Name(), made["baseUrl"].(string), made["secretKey"].(string), made["publicKey"].(string)}
	s.reportBeforeTimeout()
	t.Cleanup(func() {
		defer s.send("DELETE", "/sandboxes/"+made["sandboxId"].(string), nil)
		check, err := s.send("GET", "/check", nil)
		if err != nil {
			t.Error(err)
		}
		failures, _ := check["failures"].([]any)
		for _, failure := range failures {
			t.Error(failure.(M)["message"])
		}
		if t.Failed() || bytes.Contains(debug.Stack(), []byte("\npanic(")) {
			t.Log(s.report(t.Name()))
		}
	})
	return s
}

// reportBeforeTimeout prints the report if the test still runs shortly before `go test -timeout` ends the process, which runs no cleanup.
func (s *Sandbox) reportBeforeTimeout() {
	test, hasDeadline := s.t.(interface{ Deadline() (time.Time, bool) })
	if !hasDeadline {
		return
	}
	if deadline, isSet := test.Deadline(); isSet {
		left, margin := time.Until(deadline), 5*time.Second
		if left < 4*margin {
			margin = left / 4
		}
		timer := time.AfterFunc(left-margin, func() {
			fmt.Fprintf(os.Stderr, "%s is about to time out\n%s\n", s.t.Name(), s.report("the test timed out"))
		})
		s.t.Cleanup(func() { timer.Stop() })
	}
}

// report returns the report of a failed test, of which the server keeps files; or why there is none.
func (s *Sandbox) report(failure string) any {
	answer, err := s.send("POST", "/report?"+url.Values{"name": {s.name}, "failure": {failure}}.Encode(), nil)
	if err != nil {
		return fmt.Sprintf("(no report: %v)", err)
	}
	return answer["text"]
}

// Control runs a command of the control plane; nil is no body.
func (s *Sandbox) Control(method, path string, body any) M {
	s.t.Helper()
	answer, err := s.send(method, path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

func (s *Sandbox) send(method, path string, body any) (answer M, err error) {
	content := new(bytes.Buffer)
	if body != nil {
		json.NewEncoder(content).Encode(body)
	}
	command, _, _ := strings.Cut(path, "?")
	request, _ := http.NewRequest(method, s.BaseURL+"/_mock"+path, content)
	request.Header = http.Header{"Accept": {"application/json"}, "Content-Type": {"application/json"}, "Authorization": {"Bearer " + os.Getenv("MOCKSERVER_TOKEN")}}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, command, err.(*url.Error).Err)
	}
	defer response.Body.Close()
	if json.NewDecoder(response.Body).Decode(&answer); response.StatusCode >= 400 || path == "/journal/verify" && answer["ok"] == false {
		return nil, fmt.Errorf("%s %s: %s", method, command, answer["message"])
	}
	return answer, nil
}

// Receive registers an endpoint, and returns the events that are signed and recent.
func (s *Sandbox) Receive() <-chan M {
	s.t.Helper()
	events, key := make(chan M, 100), []byte("a key for the tests of one sandbox")
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
	host, address := os.Getenv("MOCKSERVER_RECEIVER_HOST"), "0.0.0.0:0" // by which a server in a container or on another machine reaches this one
	if host == "" {
		host, address = "127.0.0.1", "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		s.t.Fatal(err)
	}
	hook.Listener.Close()
	hook.Listener = listener
	hook.Start()
	s.t.Cleanup(hook.Close)
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	s.Control("POST", "/webhooks", M{"url": "http://" + net.JoinHostPort(host, port) + "/", "secret": "whsec_" + base64.StdEncoding.EncodeToString(key)})
	return events
}
