/** The one table of commands. */
import type { Command } from "./command.ts";
import { bulk } from "../commands/bulk.ts";
import { console } from "../commands/console.ts";
import { dev } from "../commands/dev.ts";
import { diagram } from "../commands/definitions/diagram.ts";
import { doctor } from "../commands/doctor.ts";
import { events } from "../commands/definitions/events.ts";
import { init } from "../commands/init.ts";
import { list } from "../commands/list.ts";
import { migrate } from "../commands/migrate.ts";
import { show } from "../commands/show.ts";
import { signal } from "../commands/signal.ts";
import { start } from "../commands/start.ts";
import { status } from "../commands/status.ts";
import {
  cancel,
  dismiss,
  enable,
  pause,
  remove,
  requeue,
  resend,
  resolve,
  resume,
  retire,
  retry,
  reverse,
  run,
  skip,
  unsubscribe,
} from "../commands/steer.ts";
import { stream } from "../commands/stream.ts";
import { worker } from "../commands/worker.ts";

export const COMMANDS: readonly Command[] = [
  init,
  migrate,
  doctor,
  dev,
  worker,
  console,
  status,
  list,
  show,
  stream,
  diagram,
  events,
  start,
  signal,
  cancel,
  retry,
  skip,
  requeue,
  resolve,
  reverse,
  resend,
  dismiss,
  enable,
  unsubscribe,
  pause,
  resume,
  run,
  remove,
  bulk,
  retire,
];
