// Calls of each operation by the generated client: prints what each answer says.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	client "github.com/GIT_USER_ID/GIT_REPO_ID"
)

// got returns an answer, and ends the program if there is none.
func got[A any](answer A, _ *http.Response, err error) A {
	if err != nil {
		panic(err)
	}
	return answer
}

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	configuration.AddDefaultHeader("X-API-Key", os.Getenv("API_KEY"))
	api, ctx := client.NewAPIClient(configuration), context.Background()
	fmt.Println("listTemplates", len(got(api.TemplatesAPI.ListTemplates(ctx).Execute()).Templates))
	fmt.Println("readTemplate", got(api.TemplatesAPI.ReadTemplate(ctx, os.Getenv("TEMPLATE")).Execute()).Id)
	fmt.Println("readFilterSchema", len(got(api.AudiencesAPI.ReadFilterSchema(ctx).Execute()).Fields))
	fmt.Println("previewAudience", got(api.AudiencesAPI.PreviewAudience(ctx).PreviewAudienceRequest(client.PreviewAudienceRequest{}).Execute()).EstimatedCount)
	draft := client.NewCreateCampaignRequest("Generated", "chatapp", os.Getenv("TEMPLATE"), 30)
	created := got(api.CampaignsAPI.CreateCampaign(ctx).CreateCampaignRequest(*draft).Execute())
	fmt.Println("createCampaign", created.Status)
	start := client.StartCampaignRequest{CommonVariables: &map[string]string{"var3": "31/03"}}
	fmt.Println("startCampaign", got(api.CampaignsAPI.StartCampaign(ctx, created.CampaignId).StartCampaignRequest(start).Execute()).Status)
	if _, err := api.CampaignsAPI.CancelCampaign(ctx, created.CampaignId).Execute(); err != nil {
		panic(err)
	}
	fmt.Println("cancelCampaign")
	fmt.Println("listCampaigns", len(got(api.CampaignsAPI.ListCampaigns(ctx).Execute()).Campaigns))
	for _, id := range strings.Fields(os.Getenv("CAMPAIGNS")) {
		read := got(api.CampaignsAPI.ReadCampaign(ctx, id).Execute())
		fmt.Println("readCampaign", read.Status)
		for _, execution := range read.Executions {
			fmt.Println("readCampaign.execution", execution.Status)
			fmt.Println("readExecution", got(api.CampaignsAPI.ReadExecution(ctx, id, execution.Id).Execute()).Status)
		}
	}
	fmt.Println("createConnectionSession", got(api.ConnectionSessionsAPI.CreateConnectionSession(ctx).CreateConnectionSessionRequest(client.CreateConnectionSessionRequest{}).Execute()).Status)
	for _, id := range strings.Fields(os.Getenv("SESSIONS")) {
		fmt.Println("readConnectionSession", got(api.ConnectionSessionsAPI.ReadConnectionSession(ctx, id).Execute()).Status)
	}
	fmt.Println("readEntrypoint", got(api.EntrypointsAPI.ReadEntrypoint(ctx, os.Getenv("ENTRYPOINT")).Execute()).Entrypoint.Id)
	fmt.Println("listMessages", len(got(api.MessagingAPI.ListMessages(ctx, os.Getenv("CHAT")).Limit(5).Execute()).Records))
	file, _ := os.Open(os.Getenv("FILE"))
	if _, answer, err := api.MessagingAPI.UploadMedia(ctx).Files([]*os.File{file}).Execute(); err != nil {
		fmt.Println("uploadMedia", answer.StatusCode)
	} else {
		fmt.Println("uploadMedia stored")
	}
	fmt.Println("readFormPolicy", len(got(api.FormsAPI.ReadFormPolicy(ctx, os.Getenv("FORM")).Execute()).IframeEmbedAllowedOrigins))
}
