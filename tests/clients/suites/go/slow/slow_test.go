// Package slow polls until `go test -timeout` ends it.
package slow_test

import (
	"context"
	"testing"
	"time"

	"example.org/crm/crm"
	"example.org/crm/mockserver"
)

func TestPollsForEver(t *testing.T) {
	mock := mockserver.New(t, mockserver.M{})
	client := crm.New(mock.BaseURL, mock.SecretKey)
	session, err := client.OpenSession(context.Background(), "")
	for err == nil {
		time.Sleep(50 * time.Millisecond)
		_, err = client.Session(context.Background(), session.SessionID)
	}
	t.Fatal(err)
}
