/** Fails on purpose: what is left of a failed test is looked at. */
public final class FailingTest {
    public static void main(String[] arguments) throws Exception {
        Mockserver.test("{}", mock -> new Client(mock.baseUrl, mock.secretKey, seconds -> { }).campaign("campaign_none"));
    }
}
