/** Ends its process. */
public final class KilledTest {
    public static void main(String[] arguments) throws Exception {
        Mockserver.test("ends-its-process", "{}", mock -> {
            try {
                new Client(mock.baseUrl, mock.secretKey, seconds -> { }).campaign("campaign_none");
            } catch (Client.Refused refused) {
                Runtime.getRuntime().halt(9);
            }
        });
    }
}
