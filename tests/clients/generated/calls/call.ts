// One call by the generated client: prints how many templates there are.
import { Configuration, TemplatesApi } from "./client/index";

const configuration = new Configuration({ basePath: process.env.BASE_URL, apiKey: process.env.API_KEY });
void new TemplatesApi(configuration).listTemplates().then((answer) => console.log(answer.data.templates.length));
