// Package killed ends its process.
package killed_test

import (
	"context"
	"os"
	"testing"

	"example.org/crm/crm"
	"example.org/crm/mockserver"
)

func TestEndsItsProcess(t *testing.T) {
	mock := mockserver.New(t, mockserver.M{})
	crm.New(mock.BaseURL, mock.SecretKey).Campaign(context.Background(), "campaign_none")
	process, _ := os.FindProcess(os.Getpid())
	process.Kill()
	select {}
}
