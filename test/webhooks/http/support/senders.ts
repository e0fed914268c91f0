/** Senders for tests: closed when the test is over, with loopback open unless the test says otherwise. */
import { onTestFinished } from "vitest";
import {
  createSender,
  type Sender,
  type SenderOptions,
  type SendRequest,
} from "../../../../src/webhooks/http/send.ts";

export const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

export const LOOPBACK: SenderOptions = { allowHttp: true, allowPorts: "any", allowNetworks: ["127.0.0.0/8"] };

type Dial = Parameters<typeof createSender>[1];

export function sender(options: SenderOptions = LOOPBACK, dial?: Dial): Sender {
  const made = createSender(options, dial);
  onTestFinished(() => made.close());
  return made;
}

export function message(url: string, more: Partial<SendRequest> = {}): SendRequest {
  return {
    url,
    body: Buffer.from('{"type":"order.placed"}'),
    id: "msg_1",
    timestamp: 1_900_000_000,
    secrets: [SECRET],
    ...more,
  };
}

export { until } from "../../../support/until.ts";

/** The HTTP client takes up a connection again a turn of the event loop after its answer. */
export async function turn(): Promise<void> {
  for (let n = 0; n < 3; n++) await new Promise<void>((resolve) => setImmediate(resolve));
}
