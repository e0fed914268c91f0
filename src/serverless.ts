/** Work in processes that live for some seconds: the handler of a cron route, and runs with a budget of time. */
export { workHandler, type WorkHandlerOptions, type WorkSource } from "./operate/work-handler.ts";
export { type RunReport } from "./operate/budget/run-within.ts";
export { type RunOnceOptions } from "./operate/worker.ts";
