# frozen_string_literal: true

require "timeout"
require_relative "client"
require_relative "mockserver"

# Polls until its time is over.
class SlowTest < Minitest::Test
  include Mockserver::Hooks

  def test_polls_for_ever
    client = Client.new(mock.base_url, mock.secret_key)
    session = client.open_session["sessionId"]
    Timeout.timeout(2) { sleep 0.05 while client.session(session)["status"] == "pending" }
  end
end
