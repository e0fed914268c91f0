// The services of the shop: their books outlive the process of the order. A call is made under a key, and the same key again is the
// same call. The call that the fault names has its effect, and the caller is killed before it hears of it. From then on the service is
// down for acts, or for acts and for what takes them back, or not at all.
import { createServer } from "node:http";

/** Calls that take something back, by the act that they take back. */
const undoes = {
  release: "reserve",
  "cancel-label": "label",
  "cancel-pickup": "pickup",
  "void-invoice": "invoice",
  refund: "charge",
};

export async function startServices() {
  /** @type {Map<string, string>} what stands in the books: the act, by its key */
  let books = new Map();
  let calls = 0;
  /** @type {{ at: number, down: "acts" | "all" | "nothing" } | undefined} */
  let fault;
  let down;
  const server = createServer(async (request, response) => {
    const { key } = JSON.parse(await text(request));
    const act = (request.url ?? "").slice(1);
    const answer = (status) => response.writeHead(status, { "content-length": 0 }).end();
    const undone = undoes[act];
    if (undone !== undefined) {
      if (fault?.down === "all" && down === undone) return answer(503);
      books.delete(key);
      return answer(200);
    }
    if (down === act) return answer(503);
    calls += 1;
    books.set(key, act);
    if (fault?.at !== calls) return answer(200);
    if (fault.down !== "nothing") down = act;
    process.kill(Number(request.headers["x-pid"]), "SIGKILL");
    return undefined;
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    begin(next) {
      books = new Map();
      calls = 0;
      fault = next;
      down = undefined;
    },
    get calls() {
      return calls;
    },
    /** What is left, as acts. */
    get left() {
      return [...books.values()];
    },
    close: () => server.close(),
  };
}

async function text(request) {
  let all = "";
  for await (const chunk of request) all += chunk;
  return all;
}
