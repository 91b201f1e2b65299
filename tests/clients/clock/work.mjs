/** A failure that the client reports. */
export class Refused extends Error {}
export const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));
const DRAFT = { name: "Uma", platform: "chatapp", templateId: "template_t", cadence: 10 };
const POLL_MS = 15_000;

/**
 * Create a campaign, start it, and poll it until it has ended.
 * @param {(method: string, path: string, body?: unknown) => Promise<any>} send
 */
export async function launch(send, { final = ["completed", "canceled", "failed"], start = startOnce } = {}) {
  const { campaignId } = await send("POST", "/v1/campaigns", DRAFT);
  await start(send, campaignId);
  while (!final.includes((await send("GET", `/v1/campaigns/${campaignId}`)).status)) await sleep(POLL_MS);
}

/** After a start without an answer, start again only a campaign that is a draft still. */
async function startOnce(send, id) {
  const start = () => send("POST", `/v1/campaigns/${id}/start`, {});
  await start().catch(async (failure) => {
    if (failure instanceof Refused || failure.response || failure.statusCode) throw failure; // of got, ky and undici
    await sleep(POLL_MS);
    if ((await send("GET", `/v1/campaigns/${id}`)).status === "draft") await start();
  });
}

/** End with 3 for a failure that is reported, as `--reported-exit 3` expects. */
export async function report(work) {
  await work.catch((failure) => {
    console.error(`reported: ${failure.message}`);
    process.exitCode = 3;
  });
}
