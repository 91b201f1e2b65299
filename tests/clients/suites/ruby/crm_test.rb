# frozen_string_literal: true

require_relative "client"
require_relative "mockserver"

class ClientTest < Minitest::Test
  include Mockserver::Hooks
  parallelize_me!

  SETTINGS = { scenario: "demo" }.freeze
  DRAFT = { name: "Retorno", platform: "chatapp", templateId: "template_revisao_semestral", cadence: 30 }.freeze
  VARIABLES = { var3: "31/03" }.freeze

  def setup
    @client = Client.new(mock.base_url, mock.secret_key, sleep: ->(seconds) { advance(by: seconds) })
  end

  def advance(**by) = mock.control("POST", "/clock/advance", by)
  def rule(**rule) = mock.control("POST", "/rules", rule)
  def calls(operation) = mock.control("GET", "/journal?operation=#{operation}")["exchanges"].size
  def refused(code, &call) = assert_equal(code, assert_raises(Client::Refused, &call).code)
  def platform(value) = { combinator: "and", statements: [{ field: "chat.platform", operator: "equals", value: value }] }

  def test_templates_are_listed
    assert_equal 6, @client.templates.size
  end

  def test_a_template_has_its_manual_variables
    assert_equal ["var2"], @client.template("template_semana_clareamento")["commonVariables"].map { |each| each["key"] }
  end

  def test_an_unknown_template_is_refused
    refused("MESSAGE_TEMPLATE_NOT_FOUND") { @client.template("template_none") }
  end

  def test_a_preview_counts_all_chats
    assert_operator @client.preview, :>, 21
  end

  def test_a_preview_counts_a_filter
    assert_equal 21, @client.preview(platform("chatapp"))
  end

  def test_an_unknown_platform_in_a_filter_is_refused
    refused("CAMPAIGN_INVALID_FILTERS") { @client.preview({ combinator: "and", statements: [{ field: "chat.colour", operator: "equals", value: "red" }] }) }
  end

  def test_a_campaign_begins_as_a_draft
    assert_equal "draft", @client.campaign(@client.create(DRAFT))["status"]
  end

  def test_a_taken_name_is_refused
    @client.create(DRAFT)
    refused("CAMPAIGN_NAME_ALREADY_EXISTS") { @client.create(DRAFT) }
  end

  def test_an_official_template_is_refused_on_the_lite_platform
    refused("CAMPAIGN_TEMPLATE_PLATFORM_MISMATCH") { @client.create(DRAFT.merge(platform: "chatapp_lite")) }
  end

  def test_campaigns_are_listed
    assert_equal [@client.create(DRAFT)], @client.campaigns.map { |each| each["id"] }
  end

  def test_a_start_needs_its_variables
    refused("CAMPAIGN_MISSING_COMMON_VARIABLES") { @client.start(@client.create(DRAFT)) }
  end

  def test_a_started_campaign_sends_as_time_passes
    campaign = @client.create(DRAFT)
    execution = @client.start(campaign, VARIABLES)
    advance(by: "30s")

    assert_equal 16, @client.execution(campaign, execution).values_at("sentCount", "failedCount").sum
  end

  def test_a_campaign_completes
    campaign = @client.create(DRAFT)
    execution = @client.start(campaign, VARIABLES)
    advance(until: "idle")

    assert_equal 100, @client.execution(campaign, execution)["progress"]
    assert_equal "completed", @client.campaign(campaign)["status"]
  end

  def test_a_second_start_is_refused
    campaign = @client.create(DRAFT)
    @client.start(campaign, VARIABLES)
    assert_raises(Client::Refused) { @client.start(campaign, VARIABLES) }
  end

  def test_a_campaign_is_canceled
    campaign = @client.create(DRAFT)
    @client.cancel(campaign)

    assert_equal "canceled", @client.campaign(campaign)["status"]
  end

  %w[before after].each do |lost|
    define_method("test_an_answer_lost_#{lost}_starts_a_campaign_once") do
      rule(on: "startCampaign", nth: 1, do: { drop: lost })
      @client.start(@client.create(DRAFT), VARIABLES)

      assert_equal 1, mock.control("GET", "/ledger")["executions"].size
    end
  end

  def test_a_lost_read_is_an_error_of_the_network
    rule(on: "listCampaigns", nth: 1, do: { drop: "before" })
    assert_raises(*Client::NETWORK) { @client.campaigns }

    assert_equal 1, calls("listCampaigns")
  end

  def test_a_cut_answer_is_an_error
    rule(on: "listTemplates", nth: 1, do: { truncate: 20 })
    assert_raises(JSON::ParserError, *Client::NETWORK) { @client.templates }
  end

  def test_a_call_is_tried_again_after_a_429
    rule(on: "listTemplates", nth: 1, do: { error: { code: "RATE_LIMIT_EXCEEDED", retryAfter: 30 } })
    @client.templates

    assert_equal 2, calls("listTemplates")
    assert_equal "2026-03-01T12:00:30.000Z", mock.control("GET", "/clock")["now"]
  end

  def test_a_call_is_tried_again_after_a_503
    rule(on: "listTemplates", times: 2, do: { reply: { status: 503, body: {} } })
    @client.templates

    assert_equal 3, calls("listTemplates")
  end

  def test_the_client_gives_up_after_three_attempts
    rule(on: "listTemplates", do: { error: "RATE_LIMIT_EXCEEDED" })
    refused("RATE_LIMIT_EXCEEDED") { @client.templates }

    assert_equal 3, calls("listTemplates")
  end

  def test_a_wrong_key_is_refused
    refused("API_KEY_INVALID") { Client.new(mock.base_url, "sk_wrong").templates }
  end

  def test_a_suspended_tenant_is_refused
    mock.control("PATCH", "/tenants/tenant_default", { subscription: "suspended" })
    refused("SUBSCRIPTION_INACTIVE") { @client.templates }
  end

  def test_pages_join_to_the_whole_chat
    assert_equal @client.messages("chat_helena", 100), @client.messages("chat_helena", 5)
    assert_operator calls("listMessages"), :>=, 3
  end

  def test_a_file_is_uploaded
    assert @client.upload("prices.txt", "text/plain", "Limpeza: 180")["success"]
  end

  def test_a_file_with_a_wrong_content_is_refused
    refused("MEDIA_INVALID_FORMAT") { @client.upload("face.png", "image/png", "no picture") }
  end

  def test_a_session_expires_after_twenty_minutes
    session = @client.open_session
    advance(by: "20m")

    assert_equal "expired", @client.session(session["sessionId"])["status"]
  end

  def test_a_completed_session_sends_a_signed_event
    events = mock.receive
    session = @client.open_session({ funnelStepId: "funnel_step_primeiro_contato" })["sessionId"]
    mock.control("POST", "/sessions/#{session}/complete", { name: "Recepção 2" })

    assert_equal([session], events.map { |each| each["data"]["sessionId"] })
    assert_equal "Recepção 2", @client.entrypoint(@client.session(session)["entrypoint"]["id"])["name"]
  end

  def test_a_forged_event_is_refused
    events = mock.receive
    rule(on: "delivery", nth: 1, do: { deliver: { forge: "wrong-secret" } })
    mock.control("POST", "/sessions/#{@client.open_session["sessionId"]}/fail", { reason: "phone_in_use" })

    assert_equal 1, events.size
  end
end
