# frozen_string_literal: true

require_relative "client"
require_relative "mockserver"

# Fails on purpose: what is left of the failed tests is looked at.
class FailingTest < Minitest::Test
  include Mockserver::Hooks

  def test_reads_a_campaign
    assert Client.new(mock.base_url, mock.secret_key).campaign("campaign_none")
  end

  def test_a_rule_never_fires
    mock.control("POST", "/rules", { on: "startCampaign", nth: 1, do: { drop: "after" } })
  end

  def test_lacks_a_call
    mock.control("POST", "/journal/verify", { operation: "listCampaigns", times: 1 })
  end

  def test_has_lost_its_sandbox
    mock.close
    flunk "got 1; expected 2"
  end
end
