// Package crm calls the API of the service, and takes its webhooks.
package crm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"time"
)

// Error is a documented refusal.
type Error struct {
	StatusCode int
	Code       string
	Message    string
}

func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.StatusCode, e.Code, e.Message) }

// Client calls the API with a secret key.
type Client struct {
	BaseURL, Key string
	HTTP         *http.Client
	Sleep        func(time.Duration)
	Attempts     int
}

// New returns a client that tries a refused call three times, and whose transport repeats nothing by itself.
func New(baseURL, key string) *Client {
	transport := &http.Transport{DisableKeepAlives: true}
	return &Client{baseURL, key, &http.Client{Transport: transport, Timeout: 10 * time.Second}, time.Sleep, 3}
}

type Template struct {
	ID, Name   string
	IsOfficial bool
	Variables  []struct{ Key, Label string } `json:"commonVariables"`
}

type Statement struct {
	Field    string `json:"field"`
	Operator string `json:"operator"`
	Value    any    `json:"value,omitempty"`
}

type Group struct {
	Combinator string      `json:"combinator"`
	Statements []Statement `json:"statements"`
}

type Draft struct {
	Name       string  `json:"name"`
	Platform   string  `json:"platform"`
	TemplateID string  `json:"templateId"`
	Cadence    int     `json:"cadence"`
	Filters    []Group `json:"filters,omitempty"`
}

type Execution struct {
	ID, Status                                    string
	TargetCount, SentCount, FailedCount, Progress int
}

type Campaign struct {
	ID, Name, Status string
	Executions       []Execution
}

type Entrypoint struct{ ID, Name, Platform string }

type Session struct {
	SessionID, Status, URL, Reason string
	Entrypoint                     *Entrypoint
}

type Message struct{ ID, Type, Text string }

type Media struct {
	ID, Name, URL string
	Success       bool
}

// get calls an operation and returns its answer.
func get[T any](ctx context.Context, c *Client, method, path string, body any) (answer T, err error) {
	err = c.call(ctx, method, path, body, &answer)
	return answer, err
}

func (c *Client) Templates(ctx context.Context) ([]Template, error) {
	answer, err := get[struct{ Templates []Template }](ctx, c, "GET", "/message-templates", nil)
	return answer.Templates, err
}

func (c *Client) Template(ctx context.Context, id string) (Template, error) {
	return get[Template](ctx, c, "GET", "/message-templates/"+url.PathEscape(id), nil)
}

func (c *Client) Preview(ctx context.Context, filters ...Group) (int, error) {
	body := map[string]any{}
	if len(filters) > 0 {
		body["filters"] = filters
	}
	answer, err := get[struct{ EstimatedCount int }](ctx, c, "POST", "/campaigns/audience-preview", body)
	return answer.EstimatedCount, err
}

func (c *Client) Campaigns(ctx context.Context) ([]Campaign, error) {
	answer, err := get[struct{ Campaigns []Campaign }](ctx, c, "GET", "/campaigns", nil)
	return answer.Campaigns, err
}

func (c *Client) Campaign(ctx context.Context, id string) (Campaign, error) {
	return get[Campaign](ctx, c, "GET", "/campaigns/"+url.PathEscape(id), nil)
}

func (c *Client) Create(ctx context.Context, draft Draft) (string, error) {
	answer, err := get[struct{ CampaignID string }](ctx, c, "POST", "/campaigns", draft)
	return answer.CampaignID, err
}

func (c *Client) Execution(ctx context.Context, campaign, id string) (Execution, error) {
	return get[Execution](ctx, c, "GET", "/campaigns/"+url.PathEscape(campaign)+"/executions/"+url.PathEscape(id), nil)
}

func (c *Client) Cancel(ctx context.Context, id string) error {
	return c.call(ctx, "POST", "/campaigns/"+url.PathEscape(id)+"/cancel", nil, nil)
}

// Start starts a campaign once: after a lost answer it reads the campaign before it starts it again.
func (c *Client) Start(ctx context.Context, id string, variables map[string]string) (string, error) {
	type started struct{ ExecutionID string }
	var refused *Error
	body := map[string]any{}
	if len(variables) > 0 {
		body["commonVariables"] = variables
	}
	answer, err := get[started](ctx, c, "POST", "/campaigns/"+url.PathEscape(id)+"/start", body)
	if err == nil || errors.As(err, &refused) {
		return answer.ExecutionID, err
	}
	campaign, err := c.Campaign(ctx, id)
	if err != nil {
		return "", err
	}
	if len(campaign.Executions) > 0 {
		return campaign.Executions[0].ID, nil
	}
	answer, err = get[started](ctx, c, "POST", "/campaigns/"+url.PathEscape(id)+"/start", body)
	return answer.ExecutionID, err
}

func (c *Client) OpenSession(ctx context.Context, step string) (Session, error) {
	body := map[string]any{}
	if step != "" {
		body["funnelStepId"] = step
	}
	return get[Session](ctx, c, "POST", "/entrypoints/chatapp/connection-sessions", body)
}

func (c *Client) Session(ctx context.Context, id string) (Session, error) {
	return get[Session](ctx, c, "GET", "/entrypoints/chatapp/connection-sessions/"+url.PathEscape(id), nil)
}

func (c *Client) Entrypoint(ctx context.Context, id string) (Entrypoint, error) {
	answer, err := get[struct{ Entrypoint Entrypoint }](ctx, c, "GET", "/entrypoints/"+url.PathEscape(id), nil)
	return answer.Entrypoint, err
}

// Messages returns all messages of a chat, page by page.
func (c *Client) Messages(ctx context.Context, chat string, limit int) (all []Message, err error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	for {
		path := "/messaging/chats/" + url.PathEscape(chat) + "?" + query.Encode()
		page, err := get[struct {
			Records    []Message
			NextCursor string
		}](ctx, c, "GET", path, nil)
		if all = append(all, page.Records...); err != nil || page.NextCursor == "" {
			return all, err
		}
		query.Set("cursor", page.NextCursor)
	}
}

func (c *Client) Upload(ctx context.Context, name, kind string, content []byte) (Media, error) {
	body := new(bytes.Buffer)
	form := multipart.NewWriter(body)
	part, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {fmt.Sprintf(`form-data; name="files"; filename=%q`, name)},
		"Content-Type":        {kind},
	})
	if err != nil {
		return Media{}, err
	}
	part.Write(content)
	form.Close()
	var answer []Media
	if err := c.send(ctx, "POST", "/messaging/media", form.FormDataContentType(), body.Bytes(), &answer); err != nil {
		return Media{}, err
	}
	return answer[0], nil
}

func (c *Client) EmbedOrigins(ctx context.Context, form string) ([]string, error) {
	type policy struct{ IframeEmbedAllowedOrigins []string }
	answer, err := get[policy](ctx, c, "GET", "/forms/"+url.PathEscape(form)+"/embed-frame-policy", nil)
	return answer.IframeEmbedAllowedOrigins, err
}

func (c *Client) call(ctx context.Context, method, path string, body, answer any) error {
	if body == nil {
		return c.send(ctx, method, path, "", nil, answer)
	}
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return c.send(ctx, method, path, "application/json", content, answer)
}

// send tries a call again that is refused with 429 or 503, after the seconds of Retry-After.
func (c *Client) send(ctx context.Context, method, path, kind string, content []byte, answer any) error {
	for attempt := 1; ; attempt++ {
		wait, err := c.once(ctx, method, path, kind, content, answer)
		if wait == 0 || attempt == c.Attempts {
			return err
		}
		c.Sleep(wait)
	}
}

func (c *Client) once(ctx context.Context, method, path, kind string, content []byte, answer any) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.BaseURL+"/v1"+path, bytes.NewReader(content))
	if err != nil {
		return 0, err
	}
	request.Header.Set("X-API-Key", c.Key)
	if kind != "" {
		request.Header.Set("Content-Type", kind)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	received, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	if response.StatusCode >= 400 {
		refused := &Error{StatusCode: response.StatusCode}
		json.Unmarshal(received, refused)
		return wait(response), refused
	}
	if answer == nil {
		return 0, nil
	}
	return 0, json.Unmarshal(received, answer)
}

func wait(response *http.Response) time.Duration {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		seconds = 1
	}
	return time.Duration(seconds) * time.Second
}
