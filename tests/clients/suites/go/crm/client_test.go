package crm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.org/crm/crm"
	"example.org/crm/mockserver"
)

type M = mockserver.M

var ctx = context.Background()

// service makes a sandbox, and a client whose sleep moves the sandbox's clock.
func service(t *testing.T) (*mockserver.Sandbox, *crm.Client) {
	t.Helper()
	t.Parallel()
	mock := mockserver.New(t, M{"scenario": "demo"})
	client := crm.New(mock.BaseURL, mock.SecretKey)
	client.Sleep = func(wait time.Duration) {
		mock.Control("POST", "/clock/advance", M{"by": wait.Seconds()})
	}
	return mock, client
}

func rule(mock *mockserver.Sandbox, rules ...M) {
	mock.Control("POST", "/rules", rules)
}

func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func equal(t *testing.T, expected, got any) {
	t.Helper()
	if expected != got {
		t.Fatalf("got %v; expected %v", got, expected)
	}
}

func refusal(t *testing.T, code string, err error) {
	t.Helper()
	var refused *crm.Error
	if !errors.As(err, &refused) {
		t.Fatalf("got %v; expected %s", err, code)
	}
	equal(t, code, refused.Code)
}

// calls counts the calls of an operation that the service has seen.
func calls(mock *mockserver.Sandbox, operation string) int {
	return len(mock.Control("GET", "/journal?operation="+operation, nil)["exchanges"].([]any))
}

var draft = crm.Draft{Name: "Retorno", Platform: "chatapp", TemplateID: "template_revisao_semestral", Cadence: 30}
var variables = map[string]string{"var3": "31/03"}

func created(t *testing.T, client *crm.Client) string {
	t.Helper()
	return must(client.Create(ctx, draft))(t)
}

func TestTemplatesAreListed(t *testing.T) {
	_, client := service(t)
	equal(t, 6, len(must(client.Templates(ctx))(t)))
}

func TestATemplateHasItsManualVariables(t *testing.T) {
	_, client := service(t)
	equal(t, "var2", must(client.Template(ctx, "template_semana_clareamento"))(t).Variables[0].Key)
}

func TestAnUnknownTemplateIsRefused(t *testing.T) {
	_, client := service(t)
	_, err := client.Template(ctx, "template_none")
	refusal(t, "MESSAGE_TEMPLATE_NOT_FOUND", err)
}

func TestAPreviewCountsAllChats(t *testing.T) {
	mock, client := service(t)
	chats := must(client.Preview(ctx))(t)
	if chats < 21 {
		t.Fatalf("got %d chats", chats)
	}
	equal(t, 1, calls(mock, "previewAudience"))
}

func TestAPreviewCountsAFilter(t *testing.T) {
	_, client := service(t)
	group := crm.Group{Combinator: "and", Statements: []crm.Statement{{Field: "chat.platform", Operator: "equals", Value: "chatapp"}}}
	equal(t, 21, must(client.Preview(ctx, group))(t))
}

func TestAnUnknownFilterIsRefused(t *testing.T) {
	_, client := service(t)
	_, err := client.Preview(ctx, crm.Group{Combinator: "and", Statements: []crm.Statement{{Field: "chat.colour", Operator: "equals", Value: "red"}}})
	refusal(t, "CAMPAIGN_INVALID_FILTERS", err)
}

func TestACampaignBeginsAsADraft(t *testing.T) {
	_, client := service(t)
	equal(t, "draft", must(client.Campaign(ctx, created(t, client)))(t).Status)
}

func TestATakenNameIsRefused(t *testing.T) {
	_, client := service(t)
	created(t, client)
	_, err := client.Create(ctx, draft)
	refusal(t, "CAMPAIGN_NAME_ALREADY_EXISTS", err)
}

func TestAnOfficialTemplateIsRefusedOnTheLitePlatform(t *testing.T) {
	_, client := service(t)
	lite := draft
	lite.Platform = "chatapp_lite"
	_, err := client.Create(ctx, lite)
	refusal(t, "CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH", err)
}

func TestCampaignsAreListed(t *testing.T) {
	_, client := service(t)
	id := created(t, client)
	equal(t, id, must(client.Campaigns(ctx))(t)[0].ID)
}

func TestAStartNeedsItsVariables(t *testing.T) {
	_, client := service(t)
	_, err := client.Start(ctx, created(t, client), nil)
	refusal(t, "CAMPAIGN_MISSING_COMMON_VARIABLES", err)
}

func TestAStartedCampaignSendsAsTimePasses(t *testing.T) {
	mock, client := service(t)
	id := created(t, client)
	execution := must(client.Start(ctx, id, variables))(t)
	mock.Control("POST", "/clock/advance", M{"by": "30s"})

	running := must(client.Execution(ctx, id, execution))(t)
	equal(t, "processing", running.Status)
	equal(t, 16, running.SentCount+running.FailedCount)
}

func TestACampaignCompletes(t *testing.T) {
	mock, client := service(t)
	id := created(t, client)
	execution := must(client.Start(ctx, id, variables))(t)
	mock.Control("POST", "/clock/advance", M{"until": "idle"})
	equal(t, 100, must(client.Execution(ctx, id, execution))(t).Progress)
	equal(t, "completed", must(client.Campaign(ctx, id))(t).Status)
}

func TestASecondStartIsRefused(t *testing.T) {
	_, client := service(t)
	id := created(t, client)
	must(client.Start(ctx, id, variables))(t)
	if _, err := client.Start(ctx, id, variables); err == nil {
		t.Fatal("the second start is not refused")
	}
}

func TestACampaignIsCanceled(t *testing.T) {
	_, client := service(t)
	id := created(t, client)
	if err := client.Cancel(ctx, id); err != nil {
		t.Fatal(err)
	}
	equal(t, "canceled", must(client.Campaign(ctx, id))(t).Status)
}

func TestALostAnswerStartsACampaignOnce(t *testing.T) {
	for _, lost := range []string{"before", "after"} {
		lost := lost
		t.Run(lost, func(t *testing.T) {
			mock, client := service(t)
			rule(mock, M{"on": "startCampaign", "nth": 1, "do": M{"drop": lost}})
			must(client.Start(ctx, created(t, client), variables))(t)
			equal(t, 1, len(mock.Control("GET", "/ledger", nil)["executions"].([]any)))
		})
	}
}

func TestALostReadIsAnErrorOfTheNetwork(t *testing.T) {
	mock, client := service(t)
	rule(mock, M{"on": "listCampaigns", "nth": 1, "do": M{"drop": "before"}})
	_, err := client.Campaigns(ctx)
	var refused *crm.Error
	if err == nil || errors.As(err, &refused) {
		t.Fatalf("got %v; expected an error of the network", err)
	}
	equal(t, 1, calls(mock, "listCampaigns"))
}

func TestACutAnswerIsAnError(t *testing.T) {
	mock, client := service(t)
	rule(mock, M{"on": "listTemplates", "nth": 1, "do": M{"truncate": 20}})
	if _, err := client.Templates(ctx); err == nil {
		t.Fatal("a cut answer is taken")
	}
}

func TestACallIsTriedAgainAfterA429(t *testing.T) {
	mock, client := service(t)
	rule(mock, M{"on": "listTemplates", "nth": 1, "do": M{"error": M{"code": "RATE_LIMIT_EXCEEDED", "retryAfter": 30}}})
	must(client.Templates(ctx))(t)
	equal(t, 2, calls(mock, "listTemplates"))
	equal(t, "2026-03-01T12:00:30.000Z", mock.Control("GET", "/clock", nil)["now"])
}

func TestACallIsTriedAgainAfterA503(t *testing.T) {
	mock, client := service(t)
	rule(mock, M{"on": "listTemplates", "times": 2, "do": M{"reply": M{"status": 503, "body": M{}}}})
	must(client.Templates(ctx))(t)
	equal(t, 3, calls(mock, "listTemplates"))
}

func TestTheClientGivesUpAfterThreeAttempts(t *testing.T) {
	mock, client := service(t)
	rule(mock, M{"on": "listTemplates", "do": M{"error": "RATE_LIMIT_EXCEEDED"}})
	_, err := client.Templates(ctx)
	refusal(t, "RATE_LIMIT_EXCEEDED", err)
	equal(t, 3, calls(mock, "listTemplates"))
}

func TestAWrongKeyIsRefused(t *testing.T) {
	_, client := service(t)
	client.Key = "sk_wrong"
	_, err := client.Templates(ctx)
	refusal(t, "API_KEY_INVALID", err)
}

func TestASuspendedTenantIsRefused(t *testing.T) {
	mock, client := service(t)
	mock.Control("PATCH", "/tenants/tenant_default", M{"subscription": "suspended"})
	_, err := client.Templates(ctx)
	refusal(t, "SUBSCRIPTION_INACTIVE", err)
}

func TestPagesJoinToTheWholeChat(t *testing.T) {
	mock, client := service(t)
	all := must(client.Messages(ctx, "chat_helena", 100))(t)
	paged := must(client.Messages(ctx, "chat_helena", 5))(t)
	equal(t, len(all), len(paged))
	equal(t, all[len(all)-1], paged[len(paged)-1])
	if calls(mock, "listMessages") < 3 {
		t.Fatal("there is one page")
	}
}

func TestAFileIsUploaded(t *testing.T) {
	_, client := service(t)
	media := must(client.Upload(ctx, "price list.txt", "text/plain", []byte("Limpeza: 180")))(t)
	if !media.Success || media.ID == "" {
		t.Fatalf("got %v", media)
	}
}

func TestAFileWithAWrongContentIsRefused(t *testing.T) {
	_, client := service(t)
	_, err := client.Upload(ctx, "face.png", "image/png", []byte("no picture"))
	refusal(t, "MEDIA_INVALID_FORMAT", err)
}

func TestASessionExpiresAfterTwentyMinutes(t *testing.T) {
	mock, client := service(t)
	session := must(client.OpenSession(ctx, ""))(t)
	mock.Control("POST", "/clock/advance", M{"by": "20m"})
	equal(t, "expired", must(client.Session(ctx, session.SessionID))(t).Status)
}

func TestACompletedSessionHasAnEntrypoint(t *testing.T) {
	mock, client := service(t)
	session := must(client.OpenSession(ctx, "funnel_step_primeiro_contato"))(t)
	mock.Control("POST", "/sessions/"+session.SessionID+"/complete", M{"phone": "+5511999990000", "name": "Recepção 2"})
	completed := must(client.Session(ctx, session.SessionID))(t)
	equal(t, "Recepção 2", must(client.Entrypoint(ctx, completed.Entrypoint.ID))(t).Name)
}

func TestACompletedSessionSendsASignedEvent(t *testing.T) {
	mock, client := service(t)
	events := mock.Receive()
	session := must(client.OpenSession(ctx, ""))(t)
	mock.Control("POST", "/sessions/"+session.SessionID+"/complete", M{})
	equal(t, 1, len(events))
	equal(t, session.SessionID, (<-events)["data"].(M)["sessionId"])
}

func TestAForgedEventIsRefused(t *testing.T) {
	mock, client := service(t)
	events := mock.Receive()
	rule(mock, M{"on": "delivery", "nth": 1, "do": M{"deliver": M{"forge": "wrong-secret"}}})
	session := must(client.OpenSession(ctx, ""))(t)
	mock.Control("POST", "/sessions/"+session.SessionID+"/fail", M{"reason": "phone_in_use"})
	equal(t, 1, len(events))
}
