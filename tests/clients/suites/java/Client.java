import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;

/** Calls the API of the service with a secret key. */
final class Client {
    /** A documented refusal. */
    static final class Refused extends Exception {
        final String code;

        Refused(int status, String code) {
            super(status + " " + code);
            this.code = code;
        }
    }

    private static final int ATTEMPTS = 3;
    private static final String SESSIONS = "/entrypoints/chatapp/connection-sessions";
    private final HttpClient http = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final String baseUrl, key;
    private final LongConsumer sleep;

    Client(String baseUrl, String key, LongConsumer sleep) {
        this.baseUrl = baseUrl;
        this.key = key;
        this.sleep = sleep;
    }

    List<Map<String, Object>> templates() throws Exception { return Json.list(get("/message-templates").get("templates")); }
    Map<String, Object> template(String id) throws Exception { return get("/message-templates/" + id); }
    List<Map<String, Object>> campaigns() throws Exception { return Json.list(get("/campaigns").get("campaigns")); }
    Map<String, Object> campaign(String id) throws Exception { return get("/campaigns/" + id); }
    Map<String, Object> execution(String campaign, String id) throws Exception { return get("/campaigns/" + campaign + "/executions/" + id); }
    Map<String, Object> session(String id) throws Exception { return get(SESSIONS + "/" + id); }
    Map<String, Object> openSession() throws Exception { return post(SESSIONS, Map.of()); }
    void cancel(String id) throws Exception { send("POST", "/campaigns/" + id + "/cancel", null, null); }
    String create(Map<String, Object> draft) throws Exception { return (String) post("/campaigns", draft).get("campaignId"); }

    @SuppressWarnings("unchecked")
    Map<String, Object> entrypoint(String id) throws Exception { return (Map<String, Object>) get("/entrypoints/" + id).get("entrypoint"); }

    int preview(Object... filters) throws Exception {
        Map<String, Object> body = filters.length == 0 ? Map.of() : Map.of("filters", List.of(filters));
        return ((Double) post("/campaigns/audience-preview", body).get("estimatedCount")).intValue();
    }

    /** Starts a campaign once: after a lost answer it reads the campaign before it starts it again. */
    String start(String id, Map<String, String> variables) throws Exception {
        Map<String, Object> body = variables.isEmpty() ? Map.of() : Map.of("commonVariables", variables);
        try {
            return (String) post("/campaigns/" + id + "/start", body).get("executionId");
        } catch (IOException lost) {
            var executions = Json.list(campaign(id).get("executions"));
            if (!executions.isEmpty()) return (String) executions.get(0).get("id");
            return (String) post("/campaigns/" + id + "/start", body).get("executionId");
        }
    }

    /** Returns all messages of a chat, page by page. */
    List<Map<String, Object>> messages(String chat, int limit) throws Exception {
        var all = new ArrayList<Map<String, Object>>();
        var path = "/messaging/chats/" + chat + "?limit=" + limit;
        for (var page = get(path); ; page = get(path + "&cursor=" + page.get("nextCursor"))) {
            all.addAll(Json.list(page.get("records")));
            if (page.get("nextCursor") == null) return all;
        }
    }

    Map<String, Object> upload(String name, String type, String content) throws Exception {
        var part = "--edge\r\nContent-Disposition: form-data; name=\"files\"; filename=\"%s\"\r\nContent-Type: %s\r\n\r\n%s\r\n--edge--\r\n";
        var answer = send("POST", "/messaging/media", part.formatted(name, type, content), "multipart/form-data; boundary=edge");
        return Json.list(Json.read(answer)).get(0);
    }

    private Map<String, Object> get(String path) throws Exception { return Json.object(send("GET", path, null, null)); }

    private Map<String, Object> post(String path, Object body) throws Exception {
        return Json.object(send("POST", path, Json.write(body), "application/json"));
    }

    /** Tries a call again that is refused with 429 or 503, after the seconds of Retry-After. */
    private String send(String method, String path, String body, String type) throws Exception {
        var content = body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body);
        var request = HttpRequest.newBuilder(URI.create(baseUrl + "/v1" + path)).timeout(Duration.ofSeconds(10)).header("X-API-Key", key);
        if (type != null) request.header("Content-Type", type);
        for (var attempt = 1; ; attempt++) {
            var answer = http.send(request.method(method, content).build(), HttpResponse.BodyHandlers.ofString());
            var status = answer.statusCode();
            if (status < 400) return answer.body();
            if (attempt == ATTEMPTS || (status != 429 && status != 503)) {
                throw new Refused(status, (String) Json.object(answer.body()).get("code"));
            }
            sleep.accept(Math.max(1, Long.parseLong(answer.headers().firstValue("Retry-After").orElse("1"))));
        }
    }
}
