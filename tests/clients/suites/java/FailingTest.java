/** Fails on purpose: what is left of the failed tests is looked at. */
public final class FailingTest {
    public static void main(String[] arguments) throws Exception {
        try {
            Mockserver.test("reads-a-campaign", "{}", mock -> new Client(mock.baseUrl, mock.secretKey, seconds -> { }).campaign("campaign_none"));
        } catch (AssertionError failure) {
            System.out.println(failure.getMessage());
        }
        try {
            Mockserver.test("lacks-a-call", "{}", mock -> mock.control("POST", "/journal/verify", """
                {"operation": "listCampaigns", "times": 1}"""));
        } catch (AssertionError failure) {
            System.out.println(failure.getMessage());
        }
        try {
            Mockserver.test("has-lost-its-sandbox", "{}", mock -> {
                mock.close();
                throw new AssertionError("got 1; expected 2");
            });
        } catch (AssertionError failure) {
            System.out.println(failure.getMessage());
        }
        Mockserver.test("a-rule-never-fires", "{}", mock -> mock.control("POST", "/rules", """
            {"on": "startCampaign", "nth": 1, "do": {"drop": "after"}}"""));
    }
}
