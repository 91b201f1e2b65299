# frozen_string_literal: true

require_relative "client"
require_relative "mockserver"

# Ends its process.
class KilledTest < Minitest::Test
  include Mockserver::Hooks

  def test_ends_its_process
    assert_raises(Client::Refused) { Client.new(mock.base_url, mock.secret_key).campaign("campaign_none") }
    Process.kill("KILL", Process.pid)
    sleep
  end
end
