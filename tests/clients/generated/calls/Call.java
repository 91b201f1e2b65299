import org.openapitools.client.ApiClient;
import org.openapitools.client.api.TemplatesApi;

/** One call by the generated client: prints how many templates there are. */
public class Call {
    public static void main(String[] arguments) throws Exception {
        ApiClient client = new ApiClient();
        client.updateBaseUri(System.getenv("BASE_URL"));
        client.setRequestInterceptor(request -> request.header("X-API-Key", System.getenv("API_KEY")));
        System.out.println(new TemplatesApi(client).listTemplates().getTemplates().size());
    }
}
