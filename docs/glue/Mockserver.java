import static java.nio.charset.StandardCharsets.UTF_8;
import com.sun.net.httpserver.*;
import java.net.*;
import java.net.http.*;
import java.security.*;
import java.util.*;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** The sandbox of one test: a fresh copy of the service with its own address, keys, data and clock. */
public final class Mockserver implements AutoCloseable {
    private static final HttpClient HTTP = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final byte[] KEY = "a key for the tests of one sandbox".getBytes(UTF_8);
    private static String server = System.getenv("MOCKSERVER_SERVER");
    public final String id, baseUrl, secretKey, publicKey;
    private HttpServer hook;
    public interface Test { void run(Mockserver mock) throws Exception; }

    /** Makes a sandbox with settings of POST /_mock/sandboxes. */
    public Mockserver(String settings) throws Exception {
        var made = send("POST", server() + "/_mock/sandboxes", settings);
        id = value(made, "sandboxId");
        baseUrl = value(made, "baseUrl");
        secretKey = value(made, "secretKey");
        publicKey = value(made, "publicKey");
    }

    /** Runs a test with a sandbox. A rule that never fired fails it, and the message of a failure ends with the report. */
    public static void test(String name, String settings, Test test) throws Exception {
        try (var mock = new Mockserver(settings)) {
            try {
                test.run(mock);
                var check = mock.control("GET", "/check", null);
                if (!check.contains("\"ok\":true")) throw new AssertionError(check);
            } catch (Exception | AssertionError failure) {
                if (failure.getClass().getSimpleName().equals("TestAbortedException")) throw failure; // JUnit skips the test
                var query = "/report?name=" + URLEncoder.encode(name, UTF_8) + "&failure=" + URLEncoder.encode("%.500s".formatted(failure), UTF_8);
                throw new AssertionError(failure + "\n\n" + mock.control("POST", query, null), failure);
            }
        }
    }

    /** Runs a command of the control plane; null is no body. */
    public String control(String method, String path, String body) throws Exception { return send(method, baseUrl + "/_mock" + path, body); }

    /** Registers an endpoint, and returns the events that are signed and recent. */
    public List<String> receive() throws Exception {
        var events = Collections.synchronizedList(new ArrayList<String>());
        hook = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        hook.createContext("/", exchange -> {
            var body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
            var isSigned = isSigned(exchange.getRequestHeaders(), body);
            if (isSigned) events.add(body);
            exchange.sendResponseHeaders(isSigned ? 204 : 401, -1);
        });
        hook.start();
        control("POST", "/webhooks", "{\"url\": \"http://127.0.0.1:%d/\", \"secret\": \"whsec_%s\"}".formatted(hook.getAddress().getPort(), Base64.getEncoder().encodeToString(KEY)));
        return events;
    }

    private static boolean isSigned(Headers head, String body) {
        try {
            var mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(KEY, "HmacSHA256"));
            var at = head.getFirst("webhook-timestamp");
            var own = mac.doFinal((head.getFirst("webhook-id") + "." + at + "." + body).getBytes(UTF_8));
            var given = Base64.getDecoder().decode(head.getFirst("webhook-signature").replaceFirst("^v1,", ""));
            return MessageDigest.isEqual(own, given) && Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(at)) < 300;
        } catch (GeneralSecurityException | RuntimeException failure) {
            return false;
        }
    }

    @Override public void close() throws Exception {
        if (hook != null) hook.stop(0);
        control("DELETE", "/sandboxes/" + id, null);
    }

    /** Returns the first text of a name in JSON. */
    public static String value(String json, String name) {
        return Pattern.compile("\"" + name + "\": ?\"([^\"]*)\"").matcher(json).results().findFirst().map(each -> each.group(1)).orElse(null);
    }

    private static String send(String method, String url, String body) throws Exception {
        var content = body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body);
        var headers = new String[] {"Content-Type", "application/json", "Authorization", "Bearer " + System.getenv().getOrDefault("MOCKSERVER_TOKEN", "")};
        var answer = HTTP.send(HttpRequest.newBuilder(URI.create(url)).headers(headers).method(method, content).build(), HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() >= 400 || url.endsWith("/journal/verify") && answer.body().contains("\"ok\":false")) throw new IllegalArgumentException(method + " " + url + ": " + answer.body());
        return answer.body();
    }

    /** Starts a server that ends with this process, unless MOCKSERVER_SERVER names one. */
    private static synchronized String server() throws Exception {
        if (server != null) return server;
        var command = "mockserver serve --port=0 --freeze=2026-03-01T12:00:00Z --failures-dir=.mockserver/failures --log-format=off --exit-with-parent";
        var process = new ProcessBuilder(command.split(" ")).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        return server = process.inputReader().readLine().split(" ")[4]; // mockserver VERSION listens on URL
    }
}
