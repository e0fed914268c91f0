// A receiver of webhooks in a process of its own: it answers 200 at once, except below /dead, where it never answers.
import { createServer } from "node:http";

process.once("disconnect", () => process.exit(0));

const server = createServer((request, response) => {
  request.resume();
  if (request.url?.startsWith("/dead")) return;
  request.once("end", () => response.writeHead(200, { "content-length": 2 }).end("ok"));
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send?.({ port: server.address().port }));
