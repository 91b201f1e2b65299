import java.io.File;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.*;
import org.openapitools.client.model.*;

/** Calls of each operation by the generated client: prints what each answer says. */
public class Call {
    private static void say(String operation, Object value) { System.out.println((operation + " " + value).trim()); }

    private static String env(String name) { return System.getenv(name); }

    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(env("BASE_URL"));
        client.setRequestInterceptor(request -> request.header("X-API-Key", env("API_KEY")));
        var templates = new TemplatesApi(client);
        say("listTemplates", templates.listTemplates().getTemplates().size());
        say("readTemplate", templates.readTemplate(env("TEMPLATE")).getId());
        var audiences = new AudiencesApi(client);
        say("readFilterSchema", audiences.readFilterSchema().getFields().size());
        say("previewAudience", audiences.previewAudience(new PreviewAudienceRequest()).getEstimatedCount());
        var campaigns = new CampaignsApi(client);
        var draft = new CreateCampaignRequest().name("Generated").platform(CampaignPlatform.fromValue("chatapp")).templateId(env("TEMPLATE")).cadence(30);
        var created = campaigns.createCampaign(draft);
        say("createCampaign", created.getStatus());
        say("startCampaign", campaigns.startCampaign(created.getCampaignId(), new StartCampaignRequest().commonVariables(Map.of("var3", "31/03"))).getStatus());
        campaigns.cancelCampaign(created.getCampaignId());
        say("cancelCampaign", "");
        say("listCampaigns", campaigns.listCampaigns().getCampaigns().size());
        for (var id : env("CAMPAIGNS").split(" ")) {
            var read = campaigns.readCampaign(id);
            say("readCampaign", read.getStatus());
            for (var execution : read.getExecutions()) {
                say("readCampaign.execution", execution.getStatus());
                say("readExecution", campaigns.readExecution(id, execution.getId()).getStatus());
            }
        }
        var sessions = new ConnectionSessionsApi(client);
        say("createConnectionSession", sessions.createConnectionSession(new CreateConnectionSessionRequest()).getStatus());
        for (var id : env("SESSIONS").split(" ")) say("readConnectionSession", sessions.readConnectionSession(id).getStatus());
        say("readEntrypoint", new EntrypointsApi(client).readEntrypoint(env("ENTRYPOINT")).getEntrypoint().getId());
        var messaging = new MessagingApi(client);
        say("listMessages", messaging.listMessages(env("CHAT"), null, 5).getRecords().size());
        try {
            messaging.uploadMedia(List.of(new File(env("FILE"))));
            say("uploadMedia", "stored");
        } catch (ApiException refusal) {
            say("uploadMedia", refusal.getCode());
        }
        say("readFormPolicy", new FormsApi(client).readFormPolicy(env("FORM")).getIframeEmbedAllowedOrigins().size());
    }
}
