# Calls of each operation by the generated client: prints what each answer says.
require "uri"
require "openapi_client"

OpenapiClient.configure do |config|
  address = URI(ENV.fetch("BASE_URL"))
  config.scheme, config.host, config.base_path = address.scheme, "#{address.host}:#{address.port}", address.path
  config.server_index = nil
  config.api_key["X-API-Key"] = ENV.fetch("API_KEY")
end
include OpenapiClient
templates, audiences, campaigns, sessions, messaging = TemplatesApi.new, AudiencesApi.new, CampaignsApi.new, ConnectionSessionsApi.new, MessagingApi.new
puts "listTemplates #{templates.list_templates.templates.size}"
puts "readTemplate #{templates.read_template(ENV["TEMPLATE"]).id}"
puts "readFilterSchema #{audiences.read_filter_schema.fields.size}"
puts "previewAudience #{audiences.preview_audience.estimated_count}"
draft = CreateCampaignRequest.new(name: "Generated", platform: "chatapp", template_id: ENV["TEMPLATE"], cadence: 30)
created = campaigns.create_campaign(draft)
puts "createCampaign #{created.status}"
variables = StartCampaignRequest.new(common_variables: { "var3" => "31/03" })
puts "startCampaign #{campaigns.start_campaign(created.campaign_id, start_campaign_request: variables).status}"
campaigns.cancel_campaign(created.campaign_id)
puts "cancelCampaign"
puts "listCampaigns #{campaigns.list_campaigns.campaigns.size}"
ENV["CAMPAIGNS"].split.each do |id|
  read = campaigns.read_campaign(id)
  puts "readCampaign #{read.status}"
  read.executions.each do |execution|
    puts "readCampaign.execution #{execution.status}"
    puts "readExecution #{campaigns.read_execution(id, execution.id).status}"
  end
end
puts "createConnectionSession #{sessions.create_connection_session.status}"
ENV["SESSIONS"].split.each { |id| puts "readConnectionSession #{sessions.read_connection_session(id).status}" }
puts "readEntrypoint #{EntrypointsApi.new.read_entrypoint(ENV["ENTRYPOINT"]).entrypoint.id}"
puts "listMessages #{messaging.list_messages(ENV["CHAT"], limit: 5).records.size}"
begin
  messaging.upload_media([File.new(ENV["FILE"])])
  puts "uploadMedia stored"
rescue ApiError => e
  puts "uploadMedia #{e.code}"
end
puts "readFormPolicy #{FormsApi.new.read_form_policy(ENV["FORM"]).iframe_embed_allowed_origins.size}"
