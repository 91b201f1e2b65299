// Package failing has tests that fail on purpose: what is left of them is looked at.
package failing_test

import (
	"net/http"
	"path"
	"testing"

	"example.org/crm/mockserver"
)

func TestReadsACampaign(t *testing.T) {
	mock := mockserver.New(t, mockserver.M{})
	request, _ := http.NewRequest("GET", mock.BaseURL+"/v1/campaigns/campaign_none", nil)
	request.Header.Set("X-API-Key", mock.SecretKey)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		t.Errorf("got %d; expected 200", response.StatusCode)
	}
}

func TestARuleNeverFires(t *testing.T) {
	mock := mockserver.New(t, mockserver.M{})
	mock.Control("POST", "/rules", mockserver.M{"on": "startCampaign", "nth": 1, "do": mockserver.M{"drop": "after"}})
}

func TestLacksACall(t *testing.T) {
	mockserver.New(t, mockserver.M{}).Control("POST", "/journal/verify", mockserver.M{"operation": "listCampaigns", "times": 1})
}

func TestHasLostItsSandbox(t *testing.T) {
	mock := mockserver.New(t, mockserver.M{})
	mock.Control("DELETE", "/sandboxes/"+path.Base(mock.BaseURL), nil)
	t.Error("got 1; expected 2")
}

func TestPanics(t *testing.T) {
	mockserver.New(t, mockserver.M{}).Control("POST", "/clock/advance", mockserver.M{"by": "7m"})
	panic("the client has no campaign")
}
