# frozen_string_literal: true

require "json"
require "net/http"
require "securerandom"
require "uri"

# Calls the API of the service with a secret key.
class Client
  # A documented refusal.
  class Refused < StandardError
    attr_reader :status, :code

    def initialize(status, body)
      @status = status
      @code = body["code"]
      super("#{status} #{@code}: #{body["message"]}")
    end
  end

  ATTEMPTS = 3
  SESSIONS = "/entrypoints/chatapp/connection-sessions"
  NETWORK = [EOFError, SystemCallError, Timeout::Error, Net::HTTPBadResponse].freeze

  def initialize(base_url, key, sleep: Kernel.method(:sleep))
    @base_url = base_url
    @key = key
    @sleep = sleep
  end

  def templates = call("GET", "/message-templates")["templates"]
  def template(id) = call("GET", "/message-templates/#{id}")
  def preview(*filters) = call("POST", "/campaigns/audience-preview", filters.empty? ? {} : { filters: filters })["estimatedCount"]
  def campaigns = call("GET", "/campaigns")["campaigns"]
  def campaign(id) = call("GET", "/campaigns/#{id}")
  def create(draft) = call("POST", "/campaigns", draft)["campaignId"]
  def execution(campaign, id) = call("GET", "/campaigns/#{campaign}/executions/#{id}")
  def cancel(id) = call("POST", "/campaigns/#{id}/cancel")
  def open_session(body = {}) = call("POST", SESSIONS, body)
  def session(id) = call("GET", "#{SESSIONS}/#{id}")
  def entrypoint(id) = call("GET", "/entrypoints/#{id}")["entrypoint"]
  def embed_origins(form) = call("GET", "/forms/#{form}/embed-frame-policy")["iframeEmbedAllowedOrigins"]

  # Start a campaign once: after a lost answer, read the campaign before starting it again.
  def start(id, variables = {})
    body = variables.empty? ? {} : { commonVariables: variables }
    call("POST", "/campaigns/#{id}/start", body)["executionId"]
  rescue *NETWORK
    campaign(id)["executions"].first&.fetch("id") || call("POST", "/campaigns/#{id}/start", body)["executionId"]
  end

  # All messages of a chat, page by page.
  def messages(chat, limit)
    query = { limit: limit }
    all = []
    loop do
      page = call("GET", "/messaging/chats/#{chat}?#{URI.encode_www_form(query)}")
      all.concat(page["records"])
      return all unless page["nextCursor"]

      query[:cursor] = page["nextCursor"]
    end
  end

  def upload(name, kind, content)
    edge = SecureRandom.hex
    part = "Content-Disposition: form-data; name=\"files\"; filename=\"#{name}\"\r\nContent-Type: #{kind}"
    body = "--#{edge}\r\n#{part}\r\n\r\n#{content}\r\n--#{edge}--\r\n"
    send_call("POST", "/messaging/media", body, "multipart/form-data; boundary=#{edge}").first
  end

  private

  def call(method, path, body = nil) = send_call(method, path, body&.to_json, "application/json")

  # Try a call again that is refused with 429 or 503, after the seconds of Retry-After.
  def send_call(method, path, body, kind)
    (1..).each do |attempt|
      response = request(method, path, body, kind)
      status = response.code.to_i
      return response.body ? JSON.parse(response.body) : nil if status < 400
      raise Refused.new(status, JSON.parse(response.body)) if ![429, 503].include?(status) || attempt == ATTEMPTS

      @sleep.call([response["Retry-After"].to_i, 1].max)
    end
  end

  def request(method, path, body, kind)
    target = URI("#{@base_url}/v1#{path}")
    headers = { "X-API-Key" => @key }
    headers["Content-Type"] = kind if body
    Net::HTTP.start(target.host, target.port, max_retries: 0, read_timeout: 10) do |http|
      http.request(Net::HTTPGenericRequest.new(method, !body.nil?, true, target, headers), body)
    end
  end
end
