import static java.nio.charset.StandardCharsets.UTF_8;
import com.sun.net.httpserver.*;
import java.io.IOException;
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
        var made = send("POST", server(), "/sandboxes", settings);
        id = value(made, "sandboxId");
        baseUrl = value(made, "baseUrl");
        secretKey = value(made, "secretKey");
        publicKey = value(made, "publicKey");
    }

    /** Runs a test with a sandbox. A rule that never fired fails it, and the message of a failure ends with the report. */
    public static void test(String name, String settings, Test test) throws Exception {
        var suite = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).getCallerClass().getName(); // two may have tests of one name
        try (var mock = new Mockserver(settings)) {
            try {
                test.run(mock);
                var check = mock.control("GET", "/check", null);
                if (!check.contains("\"ok\":true")) throw new AssertionError(check);
            } catch (Throwable failure) {
                if (failure.getClass().getSimpleName().equals("TestAbortedException")) throw failure; // JUnit skips the test
                var withReport = new AssertionError(failure + "\n\n" + mock.report(suite + "::" + name, failure), failure);
                withReport.setStackTrace(failure.getStackTrace());
                throw withReport;
            }
        }
    }

    /** Returns the report of a failed test, of which the server keeps files; or why there is none. */
    private String report(String name, Throwable failure) {
        var isInterrupted = Thread.interrupted() || failure instanceof InterruptedException; // by a timeout of JUnit
        var words = isInterrupted ? "the test timed out: " + failure : failure.toString();
        var query = "?name=" + URLEncoder.encode(name, UTF_8) + "&failure=" + URLEncoder.encode("%.500s".formatted(words), UTF_8);
        try {
            return control("POST", "/report" + query, null);
        } catch (Exception problem) {
            return "(no report: " + problem.getMessage() + ")";
        }
    }

    /** Runs a command of the control plane; null is no body. */
    public String control(String method, String path, String body) throws Exception { return send(method, baseUrl, path, body); }

    /** Registers an endpoint, and returns the events that are signed and recent. */
    public List<String> receive() throws Exception {
        var events = Collections.synchronizedList(new ArrayList<String>());
        var host = System.getenv("MOCKSERVER_RECEIVER_HOST"); // by which a server in a container or on another machine reaches this one
        hook = HttpServer.create(new InetSocketAddress(host == null ? "127.0.0.1" : "0.0.0.0", 0), 0);
        hook.createContext("/", exchange -> {
            var body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
            var isSigned = isSigned(exchange.getRequestHeaders(), body);
            if (isSigned) events.add(body);
            exchange.sendResponseHeaders(isSigned ? 204 : 401, -1);
        });
        hook.start();
        var url = "http://%s:%d/".formatted(host == null ? "127.0.0.1" : host, hook.getAddress().getPort());
        control("POST", "/webhooks", "{\"url\": \"%s\", \"secret\": \"whsec_%s\"}".formatted(url, Base64.getEncoder().encodeToString(KEY)));
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

    /** Ends the sandbox and its receiver. */
    @Override public void close() {
        if (hook != null) hook.stop(0);
        try {
            control("DELETE", "/sandboxes/" + id, null);
        } catch (Exception ended) { // before, with its server
        }
    }

    /** Returns the first text of a name in JSON. */
    public static String value(String json, String name) {
        return Pattern.compile("\"" + name + "\": ?\"([^\"]*)\"").matcher(json).results().findFirst().map(each -> each.group(1)).orElse(null);
    }

    private static String send(String method, String address, String path, String body) throws Exception {
        var content = body == null ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body);
        var headers = new String[] {"Content-Type", "application/json", "Authorization", "Bearer " + System.getenv().getOrDefault("MOCKSERVER_TOKEN", "")};
        var request = HttpRequest.newBuilder(URI.create(address + "/_mock" + path)).headers(headers).method(method, content).build();
        var command = method + " " + path.split("[?]")[0];
        try {
            var answer = HTTP.send(request, HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() < 400 && !(path.equals("/journal/verify") && answer.body().contains("\"ok\":false"))) return answer.body();
            throw new IllegalArgumentException(command + ": " + answer.body());
        } catch (IOException failure) {
            throw new IOException(command + ": " + failure, failure);
        }
    }

    /** Starts a server that ends with this process, unless MOCKSERVER_SERVER has the address of one. */
    private static synchronized String server() throws IOException {
        if (server != null) return server;
        var command = "mockserver serve --port=0 --freeze=2026-03-01T12:00:00Z --failures-dir=.mockserver/failures --log-format=off --exit-with-parent";
        try {
            var process = new ProcessBuilder(command.split(" ")).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            return server = process.inputReader().readLine().split(" ")[4]; // mockserver VERSION listens on URL
        } catch (IOException | NullPointerException failure) {
            throw new IOException("mockserver serve did not start; expected the command mockserver on the PATH, or an address in MOCKSERVER_SERVER", failure);
        }
    }
}
