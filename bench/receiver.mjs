// A receiver of webhooks in a process of its own: it answers 200 at once, except below /dead, where it never answers, and
// at /count, where it tells how many it has answered.
import { createServer } from "node:http";

process.once("disconnect", () => process.exit(0));

let count = 0;

const server = createServer((request, response) => {
  request.resume();
  if (request.url?.startsWith("/dead")) return;
  if (request.url === "/count") {
    response.end(String(count));
    return;
  }
  request.once("end", () => {
    count++;
    response.writeHead(200, { "content-length": 2 }).end("ok");
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.send?.({ port: server.address().port }));
