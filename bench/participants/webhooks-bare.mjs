// The same HTTP client, the same number of connections, and the same requests, each signed for its receiver: with nothing around
// them, and nothing on record.
import { createHmac, createSecretKey } from "node:crypto";
import { Agent } from "undici";
import { subscriptions, webhookBody } from "../webhook-work.mjs";
import { startReceiver } from "../receiver-process.mjs";

const lanes = 256;

export async function open({ quick, signed = true }) {
  const receiver = await startReceiver();
  const agent = new Agent({ connections: 32, pipelining: 1 });
  const requests = quick ? 8_000 : 20_000;
  const plain = { "content-type": "application/json", "user-agent": "bare" };
  const key = createSecretKey(Buffer.alloc(24, 7));
  const signedHeaders = (id) => {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${webhookBody}`).digest("base64");
    return {
      ...plain,
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": `v1,${signature}`,
    };
  };
  let left = 0;
  const drive = async () => {
    while (left-- > 0) {
      const answer = await agent.request({
        origin: receiver.origin,
        path: `/hook/${left % subscriptions}`,
        method: "POST",
        headers: signed ? signedHeaders(`evt_${left}`) : plain,
        body: webhookBody,
      });
      await answer.body.text();
    }
  };
  return {
    async slice() {
      left = requests;
      const begun = { at: performance.now(), cpu: process.cpuUsage() };
      await Promise.all(Array.from({ length: lanes }, drive));
      const seconds = (performance.now() - begun.at) / 1000;
      const { user, system } = process.cpuUsage(begun.cpu);
      return { requests_per_s: requests / seconds, cpu_us_per_request: (user + system) / requests };
    },
    async close() {
      await agent.close();
      receiver.stop();
    },
  };
}
