import "reflect-metadata";
import { NestFactory } from "@nestjs/core";
import { AppModule } from "./app.module.ts";

const app = await NestFactory.create(AppModule);
// Without it, SIGTERM ends the process at once. The option makes a stop in order end with 0.
app.enableShutdownHooks([], { useProcessExit: true });
const server = await app.listen(process.env.PORT ?? 3000);

// The worker stops first, within 25 seconds, then the server. Clients may keep connections open for longer.
process.once("SIGTERM", () => setTimeout(() => server.closeAllConnections(), 30_000).unref());
