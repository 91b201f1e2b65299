import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Thirty tests of the client, four at a time. */
public final class CrmTest {
    private interface Test { void run(Mockserver mock, Client client) throws Exception; }

    private static final Map<String, Object> DRAFT = draft("chatapp");
    private static final Map<String, String> VARIABLES = Map.of("var3", "31/03");
    private static final Map<String, Test> TESTS = new LinkedHashMap<>();

    private static Map<String, Object> draft(String platform) {
        return Map.of("name", "Retorno", "platform", platform, "templateId", "template_revisao_semestral", "cadence", 30);
    }

    private static Map<String, Object> group(String field, String value) {
        return Map.of("combinator", "and", "statements", List.of(Map.of("field", field, "operator", "equals", "value", value)));
    }

    private static void advance(Mockserver mock, String by, String value) throws Exception {
        mock.control("POST", "/clock/advance", "{\"" + by + "\": \"" + value + "\"}");
    }

    private static void rule(Mockserver mock, String rule) throws Exception {
        mock.control("POST", "/rules", rule);
    }

    private static int calls(Mockserver mock, String operation) throws Exception {
        return Json.list(Json.object(mock.control("GET", "/journal?operation=" + operation, null)).get("exchanges")).size();
    }

    private static void equal(Object expected, Object got) {
        if (!Objects.equals(expected, got)) throw new AssertionError("got " + got + "; expected " + expected);
    }

    private static void refused(String code, Callable<?> call) throws Exception {
        try {
            call.call();
        } catch (Client.Refused refused) {
            equal(code, refused.code);
            return;
        }
        throw new AssertionError("got no refusal; expected " + code);
    }

    private static void fails(Class<? extends Exception> kind, Callable<?> call) {
        try {
            call.call();
        } catch (Exception failure) {
            if (kind.isInstance(failure)) return;
            throw new AssertionError("got " + failure, failure);
        }
        throw new AssertionError("got an answer; expected " + kind);
    }

    static {
        TESTS.put("templates are listed", (mock, client) -> equal(6, client.templates().size()));
        TESTS.put("a template has its manual variables", (mock, client) ->
            equal("var2", Json.list(client.template("template_semana_clareamento").get("commonVariables")).get(0).get("key")));
        TESTS.put("an unknown template is refused", (mock, client) -> refused("MESSAGE_TEMPLATE_NOT_FOUND", () -> client.template("template_none")));
        TESTS.put("a preview counts all chats", (mock, client) -> equal(true, client.preview() > 21));
        TESTS.put("a preview counts a filter", (mock, client) -> equal(21, client.preview(group("chat.platform", "chatapp"))));
        TESTS.put("an unknown filter is refused", (mock, client) ->
            refused("CAMPAIGN_INVALID_FILTERS", () -> client.preview(group("chat.colour", "red"))));
        TESTS.put("a campaign begins as a draft", (mock, client) -> equal("draft", client.campaign(client.create(DRAFT)).get("status")));
        TESTS.put("a taken name is refused", (mock, client) -> {
            client.create(DRAFT);
            refused("CAMPAIGN_NAME_ALREADY_EXISTS", () -> client.create(DRAFT));
        });
        TESTS.put("an official template is refused on the lite platform", (mock, client) ->
            refused("CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH", () -> client.create(draft("chatapp_lite"))));
        TESTS.put("campaigns are listed", (mock, client) -> equal(client.create(DRAFT), client.campaigns().get(0).get("id")));
        TESTS.put("an unknown campaign is refused", (mock, client) -> refused("CAMPAIGN_NOT_FOUND", () -> client.campaign("campaign_none")));
        TESTS.put("a start needs its variables", (mock, client) ->
            refused("CAMPAIGN_MISSING_COMMON_VARIABLES", () -> client.start(client.create(DRAFT), Map.of())));
        TESTS.put("a started campaign sends as time passes", (mock, client) -> {
            var campaign = client.create(DRAFT);
            var execution = client.start(campaign, VARIABLES);
            advance(mock, "by", "30s");
            var running = client.execution(campaign, execution);
            equal(16.0, (Double) running.get("sentCount") + (Double) running.get("failedCount"));
        });
        TESTS.put("a campaign completes", (mock, client) -> {
            var campaign = client.create(DRAFT);
            client.start(campaign, VARIABLES);
            advance(mock, "until", "idle");
            equal("completed", client.campaign(campaign).get("status"));
        });
        TESTS.put("a campaign is canceled", (mock, client) -> {
            var campaign = client.create(DRAFT);
            client.cancel(campaign);
            equal("canceled", client.campaign(campaign).get("status"));
        });
        for (var lost : List.of("before", "after")) {
            TESTS.put("an answer lost " + lost + " starts a campaign once", (mock, client) -> {
                rule(mock, "{\"on\": \"startCampaign\", \"nth\": 1, \"do\": {\"drop\": \"" + lost + "\"}}");
                client.start(client.create(DRAFT), VARIABLES);
                equal(1, Json.list(Json.object(mock.control("GET", "/ledger", null)).get("executions")).size());
            });
        }
        TESTS.put("a lost read is an error of the network", (mock, client) -> {
            rule(mock, "{\"on\": \"listCampaigns\", \"nth\": 1, \"do\": {\"drop\": \"before\"}}");
            fails(IOException.class, client::campaigns);
            equal(1, calls(mock, "listCampaigns"));
        });
        TESTS.put("a cut answer is an error", (mock, client) -> {
            rule(mock, "{\"on\": \"listTemplates\", \"nth\": 1, \"do\": {\"truncate\": 20}}");
            fails(IOException.class, client::templates);
        });
        TESTS.put("a call is tried again after a 429", (mock, client) -> {
            rule(mock, "{\"on\": \"listTemplates\", \"nth\": 1, \"do\": {\"error\": {\"code\": \"RATE_LIMIT_EXCEEDED\", \"retryAfter\": 30}}}");
            client.templates();
            equal(2, calls(mock, "listTemplates"));
            equal("2026-03-01T12:00:30.000Z", Mockserver.value(mock.control("GET", "/clock", null), "now"));
        });
        TESTS.put("a call is tried again after a 503", (mock, client) -> {
            rule(mock, "{\"on\": \"listTemplates\", \"times\": 2, \"do\": {\"reply\": {\"status\": 503, \"body\": {}}}}");
            client.templates();
            equal(3, calls(mock, "listTemplates"));
        });
        TESTS.put("the client gives up after three attempts", (mock, client) -> {
            rule(mock, "{\"on\": \"listTemplates\", \"do\": {\"error\": \"RATE_LIMIT_EXCEEDED\"}}");
            refused("RATE_LIMIT_EXCEEDED", client::templates);
            equal(3, calls(mock, "listTemplates"));
        });
        TESTS.put("a wrong key is refused", (mock, client) ->
            refused("API_KEY_INVALID", () -> new Client(mock.baseUrl, "sk_wrong", seconds -> { }).templates()));
        TESTS.put("a suspended tenant is refused", (mock, client) -> {
            mock.control("PATCH", "/tenants/tenant_default", "{\"subscription\": \"suspended\"}");
            refused("SUBSCRIPTION_INACTIVE", client::templates);
        });
        TESTS.put("pages join to the whole chat", (mock, client) -> {
            equal(client.messages("chat_helena", 100), client.messages("chat_helena", 5));
            equal(true, calls(mock, "listMessages") >= 3);
        });
        TESTS.put("a file is uploaded", (mock, client) -> equal(true, client.upload("prices.txt", "text/plain", "Limpeza: 180").get("success")));
        TESTS.put("a file with a wrong content is refused", (mock, client) ->
            refused("MEDIA_INVALID_FORMAT", () -> client.upload("face.png", "image/png", "no picture")));
        TESTS.put("a session expires after twenty minutes", (mock, client) -> {
            var session = (String) client.openSession().get("sessionId");
            advance(mock, "by", "20m");
            equal("expired", client.session(session).get("status"));
        });
        TESTS.put("a completed session sends a signed event", (mock, client) -> {
            var events = mock.receive();
            var session = (String) client.openSession().get("sessionId");
            mock.control("POST", "/sessions/" + session + "/complete", "{\"name\": \"Recepção 2\"}");
            equal(List.of(session), events.stream().map(each -> Mockserver.value(each, "sessionId")).toList());
        });
        TESTS.put("a forged event is refused", (mock, client) -> {
            var events = mock.receive();
            rule(mock, "{\"on\": \"delivery\", \"nth\": 1, \"do\": {\"deliver\": {\"forge\": \"wrong-secret\"}}}");
            mock.control("POST", "/sessions/" + client.openSession().get("sessionId") + "/fail", "{\"reason\": \"phone_in_use\"}");
            equal(1, events.size());
        });
    }

    private static Future<?> submit(java.util.concurrent.ExecutorService pool, String name, Test test) {
        return pool.submit(() -> {
            Mockserver.test(name, "{\"scenario\": \"demo\"}", mock -> test.run(mock, new Client(mock.baseUrl, mock.secretKey, seconds -> {
                try {
                    advance(mock, "by", seconds + "s");
                } catch (Exception failure) {
                    throw new IllegalStateException(failure);
                }
            })));
            System.out.println("ok " + name);
            return null;
        });
    }

    public static void main(String[] arguments) throws Exception {
        var pool = Executors.newFixedThreadPool(4);
        var running = TESTS.entrySet().stream().map(each -> submit(pool, each.getKey(), each.getValue())).toList();
        pool.shutdown();
        for (var each : running) each.get();
    }
}
