# frozen_string_literal: true

require "json"
require "minitest/autorun"
require "net/http"
require "openssl"
require "socket"

# Gives each test a sandbox: a fresh copy of the service with its own address, keys, data and clock.
module Mockserver
  COMMAND = %w[mockserver serve --port=0 --freeze=2026-03-01T12:00:00Z --failures-dir=.mockserver/failures --log-format=off --exit-with-parent].freeze
  # The address of a server that ends with this process, unless MOCKSERVER_SERVER has one.
  URL = ENV["MOCKSERVER_SERVER"] || begin
    (SERVER = IO.popen(COMMAND)).gets.split.last
  rescue SystemCallError, NoMethodError => e
    raise "mockserver serve did not start (#{e.message}); expected the command mockserver on the PATH, or an address in MOCKSERVER_SERVER"
  end

  # The service of one test.
  class Sandbox
    attr_reader :base_url, :secret_key, :public_key

    def initialize(settings = {})
      @base_url = URL
      @id, @base_url, @secret_key, @public_key = control("POST", "/sandboxes", settings).values_at("sandboxId", "baseUrl", "secretKey", "publicKey")
    end

    # Run a command of the control plane.
    def control(method, path, body = nil)
      target = URI("#{base_url}/_mock#{path}")
      headers = { "Accept" => "application/json", "Content-Type" => "application/json", "Authorization" => "Bearer #{ENV["MOCKSERVER_TOKEN"]}" }
      request = Net::HTTPGenericRequest.new(method, !body.nil?, true, target, headers)
      response = Net::HTTP.start(target.host, target.port) { |http| http.request(request, body&.to_json) }
      answer = JSON.parse(response.body || "{}")
      return answer if response.code.to_i < 400 && (path != "/journal/verify" || answer["ok"])

      raise Minitest::Assertion, "#{method} #{path[/[^?]+/]}: #{answer["message"]}"
    end

    # Return the report of a failed test, of which the server keeps files; or why there is none.
    def report(name, failure)
      control("POST", "/report?#{URI.encode_www_form(name: name, failure: failure[0, 500])}")["text"]
    rescue StandardError, Minitest::Assertion => e
      "(no report: #{e.message})"
    end

    # Register an endpoint, and return the events that are signed and recent.
    def receive
      host = ENV["MOCKSERVER_RECEIVER_HOST"] # by which a server in a container or on another machine reaches this one
      events, key, @hook = [], "a key for the tests of one sandbox", TCPServer.new(host ? "0.0.0.0" : "127.0.0.1", 0)
      Thread.new { loop { take(@hook.accept, key) { |event| events << event } } }.report_on_exception = false
      control("POST", "/webhooks", { url: "http://#{host || "127.0.0.1"}:#{@hook.addr[1]}/", secret: "whsec_#{[key].pack("m0")}" })
      events
    end

    # End the sandbox and its receiver.
    def close
      @hook&.close
      control("DELETE", "/sandboxes/#{@id}")
    rescue StandardError, Minitest::Assertion
      nil # it has ended before, with its server
    end

    private

    def take(socket, key)
      head = socket.gets("\r\n\r\n").lines(chomp: true)[1...-1].to_h { |line| line.split(": ", 2) }.transform_keys(&:downcase)
      body = socket.read(head["content-length"].to_i)
      id, at, given = head.values_at("webhook-id", "webhook-timestamp", "webhook-signature")
      own = "v1,#{[OpenSSL::HMAC.digest("SHA256", key, "#{id}.#{at}.#{body}")].pack("m0")}"
      valid = OpenSSL.secure_compare(own, given) && (Time.now.to_i - at.to_i).abs < 300
      yield JSON.parse(body) if valid
      socket.write("HTTP/1.1 #{valid ? "204 No Content" : "401 Unauthorized"}\r\nConnection: close\r\n\r\n")
      socket.close
    end
  end

  # For a Minitest::Test: `mock` is the sandbox of the test. A rule that never fired fails it, and a failure ends with the report.
  module Hooks
    attr_reader :mock

    def before_setup
      @mock = Sandbox.new(self.class.const_defined?(:SETTINGS) ? self.class::SETTINGS : {})
      super
    end

    def after_teardown
      super
      return unless mock

      capture_exceptions { mock.control("GET", "/check")["failures"].each { |each| flunk each["message"] } } if passed?
      unless passed? || skipped?
        file = method(name).source_location.first.delete_prefix("#{Dir.pwd}/") # two files may have tests of one name
        report = mock.report("#{file}::#{self.class}.#{name}", failure.message)
        failure.define_singleton_method(:message) { "#{super()}\n\n#{report}" }
      end
      mock.close
    end
  end
end
