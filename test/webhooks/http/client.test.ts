import { expect, it } from "vitest";
import { loadAgent } from "../../../src/webhooks/http/client.ts";

class Stub {
  readonly isStub = true;
}

it("[W-16] on a runtime that puts a stub in the place of the HTTP client, the package's own file is loaded", async () => {
  const Agent = await loadAgent(async () => ({ Agent: Stub }));
  expect(Agent).not.toBe(Stub);
  const agent = new Agent();
  expect(agent.dispatch).toBeTypeOf("function");
  await agent.close();
});

it("[W-16] where nothing can send, that is said before a worker begins, with what to do", async () => {
  const stub = async (): Promise<{ Agent: unknown }> => ({ Agent: Stub });
  const missing = (): never => {
    throw new Error("not found");
  };
  for (const file of [missing, () => Stub, () => undefined])
    await expect(loadAgent(stub, file)).rejects.toMatchObject({
      code: "NOT_SUPPORTED",
      message: expect.stringContaining("`sender`") as string,
    });
});
