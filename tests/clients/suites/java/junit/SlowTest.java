import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Polls until JUnit ends it. */
class SlowTest {
    @Test @Timeout(10) void pollsForEver() throws Exception {
        Mockserver.test("polls-for-ever", "{}", mock -> {
            var client = new Client(mock.baseUrl, mock.secretKey, seconds -> { });
            var session = client.openSession().get("sessionId").toString();
            while (client.session(session).get("status").equals("pending")) Thread.sleep(50);
        });
    }
}
