# One call by the generated client: prints how many templates there are.
require "uri"
require "openapi_client"

OpenapiClient.configure do |config|
  address = URI(ENV.fetch("BASE_URL"))
  config.scheme, config.host, config.base_path = address.scheme, "#{address.host}:#{address.port}", address.path
  config.server_index = nil
  config.api_key["X-API-Key"] = ENV.fetch("API_KEY")
end
puts OpenapiClient::TemplatesApi.new.list_templates.templates.size
