// One call by the generated client: prints how many templates there are.
package main

import (
	"context"
	"fmt"
	"os"

	client "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	configuration.AddDefaultHeader("X-API-Key", os.Getenv("API_KEY"))
	answer, _, err := client.NewAPIClient(configuration).TemplatesAPI.ListTemplates(context.Background()).Execute()
	if err != nil {
		panic(err)
	}
	fmt.Println(len(answer.Templates))
}
