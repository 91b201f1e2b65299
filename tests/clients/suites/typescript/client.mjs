/** A documented refusal. */
export class Refused extends Error {
  constructor(/** @type {number} */ status, /** @type {{ code: string, message: string }} */ body) {
    super(`${status} ${body.code}: ${body.message}`);
    this.code = body.code;
  }
}

const ATTEMPTS = 3;
const SESSIONS = "/entrypoints/chatapp/connection-sessions";

/** Calls the API of the service with a secret key. */
export class Client {
  constructor(/** @type {string} */ baseUrl, /** @type {string} */ key, /** @type {(seconds: number) => Promise<unknown>} */ sleep) {
    this.baseUrl = baseUrl;
    this.key = key;
    this.sleep = sleep;
  }
  templates = async () => (await this.#call("GET", "/message-templates")).templates;
  template = (id) => this.#call("GET", `/message-templates/${id}`);
  preview = async (...filters) =>
    (await this.#call("POST", "/campaigns/audience-preview", filters.length ? { filters } : {})).estimatedCount;
  campaigns = async () => (await this.#call("GET", "/campaigns")).campaigns;
  campaign = (id) => this.#call("GET", `/campaigns/${id}`);
  create = async (draft) => (await this.#call("POST", "/campaigns", draft)).campaignId;
  execution = (campaign, id) => this.#call("GET", `/campaigns/${campaign}/executions/${id}`);
  cancel = (id) => this.#call("POST", `/campaigns/${id}/cancel`);
  openSession = () => this.#call("POST", SESSIONS, {});
  session = (id) => this.#call("GET", `${SESSIONS}/${id}`);
  entrypoint = async (id) => (await this.#call("GET", `/entrypoints/${id}`)).entrypoint;

  /** Start a campaign once: after a lost answer, read the campaign before starting it again. */
  async start(id, commonVariables) {
    const start = async () => (await this.#call("POST", `/campaigns/${id}/start`, { commonVariables })).executionId;
    return start().catch(async (failure) => {
      if (failure instanceof Refused) throw failure;
      return (await this.campaign(id)).executions[0]?.id ?? start();
    });
  }
  /** Return all messages of a chat, page by page. */
  async messages(chat, limit) {
    const all = [];
    for (let cursor = ""; ; ) {
      const page = await this.#call("GET", `/messaging/chats/${chat}?limit=${limit}${cursor}`);
      all.push(...page.records);
      if (!page.nextCursor) return all;
      cursor = `&cursor=${page.nextCursor}`;
    }
  }
  async upload(name, type, content) {
    const form = new FormData();
    form.append("files", new Blob([content], { type }), name);
    return (await this.#send("POST", "/messaging/media", form))[0];
  }
  #call(method, path, body) {
    return this.#send(method, path, body && JSON.stringify(body), body && { "Content-Type": "application/json" });
  }
  /** Try a call again that is refused with 429 or 503, after the seconds of Retry-After. */
  async #send(method, path, body, headers) {
    for (let attempt = 1; ; attempt++) {
      const options = { method, body, headers: { "X-API-Key": this.key, ...headers }, signal: AbortSignal.timeout(10_000) };
      const response = await fetch(`${this.baseUrl}/v1${path}`, options);
      const text = await response.text();
      if (response.ok) return text && JSON.parse(text);
      if (![429, 503].includes(response.status) || attempt === ATTEMPTS) throw new Refused(response.status, JSON.parse(text));
      await this.sleep(Math.max(1, Number(response.headers.get("Retry-After"))));
    }
  }
}
