// The types of mockserver.mjs, which need neither the types of Node nor those of a test runner.

/** A duration of the clock: seconds, or a text such as "20m". */
export type Duration = number | string;

/** A fault or another change: when it happens, and what it does (see the page Scenarios). */
export interface Rule {
  on?: string;
  at?: Duration;
  after?: { sent: number };
  skip?: number;
  nth?: number;
  every?: number;
  times?: number;
  chance?: number;
  from?: Duration;
  until?: Duration;
  where?: { [place: string]: unknown };
  while?: { [value: string]: unknown };
  when?: "before" | "after";
  mustFire?: boolean;
  do: { [effect: string]: unknown };
}

/** An operation of the API; "*" is each. */
export type Operation =
  | "*"
  | "listTemplates"
  | "readTemplate"
  | "readFilterSchema"
  | "previewAudience"
  | "createCampaign"
  | "listCampaigns"
  | "readCampaign"
  | "readExecution"
  | "startCampaign"
  | "cancelCampaign"
  | "createConnectionSession"
  | "readConnectionSession"
  | "readEntrypoint"
  | "uploadMedia"
  | "listMessages"
  | "readFormPolicy";

/** An expectation on the calls of an operation. */
export type Expectation = { operation: Operation; where?: { [place: string]: unknown } } & (
  | { times: number }
  | { atLeast: number; atMost?: number }
  | { atMost: number }
);

export interface Settings {
  scenario?: string | { [member: string]: unknown };
  seed?: number;
  profile?: "literal" | "guide" | "hostile";
  choices?: { [choice: string]: unknown };
  clock?: { [member: string]: unknown };
  given?: { [member: string]: unknown };
  labels?: { [label: string]: string };
}

export type EventKind = "entrypoints" | "entrypoints.chatapp.connected" | "entrypoints.chatapp.connection_failed";

export interface Attempt {
  at: string;
  status?: number;
  error?: string;
  fault?: string;
}
export interface EventEntry {
  id: string;
  at: string;
  event: string;
  data: any;
  deliveries: { endpoint: string; status: "due" | "waiting" | "delivered" | "abandoned"; attempts: Attempt[] }[];
}
export interface Exchange {
  n: number;
  at: string;
  operation: string | null;
  applied: boolean;
  request: { method: string; path: string; query: any; headers: any; body: any };
  response: any;
}
export interface ClockState {
  now: string;
  frozen: boolean;
}
type SessionEnd = { sessionId: string; status: "pending" | "completed" | "failed" | "expired"; entrypoint?: any };

/** The commands whose bodies and answers have types, by method and path; any other command takes and returns anything. */
export interface Commands {
  "POST /sandboxes": { body: Settings | undefined; answer: Made };
  "GET /clock": { body: undefined; answer: ClockState };
  "PUT /clock": { body: { freeze: string | true } | { follow: true; catchUp?: boolean }; answer: ClockState };
  "POST /clock/advance": {
    body: { by: Duration } | { to: string } | { until: "idle" };
    answer: { now: string; fired: { at: string; what: string; id: string }[] };
  };
  "POST /rules": { body: Rule | Rule[]; answer: { rules: (Rule & { id: string; matched: number; fired: number })[] } };
  "POST /journal/verify": { body: Expectation; answer: { ok: boolean; count: number } };
  "GET /journal": { body: undefined; answer: { exchanges: Exchange[] } };
  "GET /events": { body: undefined; answer: { events: EventEntry[] } };
  "GET /check": { body: undefined; answer: { ok: boolean; failures: { kind: string; message: string }[] } };
  "POST /webhooks": {
    body: { url: string; events?: EventKind[]; secret?: string; tenantId?: string };
    answer: { webhookId: string; tenantId: string; url: string; events: string[]; secret: string };
  };
  "POST /checkpoints": { body: undefined; answer: { checkpointId: string } };
  [complete: `POST /sessions/${string}/complete`]: { body: { phone?: string; name?: string }; answer: SessionEnd };
  [fail: `POST /sessions/${string}/fail`]: {
    body: { reason: "token_exchange_failed" | "phone_in_use" | "funnel_not_found" };
    answer: SessionEnd;
  };
  [tenant: `PATCH /tenants/${string}`]: {
    body: { name?: string; developersEnabled?: boolean; subscription?: "active" | "suspended" | "canceled" | "none" };
    answer: { tenantId: string; name: string; secretKey: string; publicKey: string };
  };
}
type Command<M extends string, P extends string> = `${M} ${P}` extends keyof Commands
  ? Commands[`${M} ${P}`]
  : { body: unknown; answer: any };
type Body<B> = undefined extends B ? [body?: B] : [body: B];

export interface Made {
  sandboxId: string;
  baseUrl: string;
  secretKey: string;
  publicKey?: string;
}

/** The address of the server: MOCKSERVER_SERVER, or that of one that ends with this process. */
export const url: string;

/** A sandbox: a fresh copy of the service with its own address, keys, data and clock. */
export class Sandbox {
  readonly sandboxId: string;
  readonly baseUrl: string;
  readonly secretKey: string;
  readonly publicKey: string;
  /** Without an argument it is the sandbox that `mockserver explore` has made for this process. */
  constructor(made?: Made);
  /** Make a sandbox with settings of POST /_mock/sandboxes. */
  static open(settings?: Settings): Promise<Sandbox>;
  /** Call the API with the secret key. */
  call(method: string, path: string, body?: unknown): Promise<{ status: number; headers: any; body: any }>;
  /** Run a command of the control plane. */
  control<M extends string, P extends string>(
    method: M,
    path: P,
    ...body: Body<Command<M, P>["body"]>
  ): Promise<Command<M, P>["answer"]>;
  /** Return the report of a failed test, of which the server keeps files; or why there is none. */
  report(name: string, failure: unknown): Promise<string>;
  /** Put the timers and the date of this process on the sandbox's clock, until `close`. */
  useClock(): Promise<void>;
  /** Receive events, verified. */
  receive(options?: { events?: any[]; seconds?: number }): Promise<any[]>;
  /** End the sandbox, its receivers and its hold on the timers. */
  close(): Promise<void>;
}

/** What node:test or Vitest gives a test; undefined with Jest and Mocha. */
export type Context = any;

/** Define a test with a sandbox of its own; a rule that never fired fails it, and the message of a failure ends with the report. */
export function sandboxTest(
  name: string,
  settings: Settings,
  run: (sandbox: Sandbox, t: Context) => unknown,
  define?: (...given: any[]) => any,
): void;
