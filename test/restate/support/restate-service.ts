/** Serves the stories to Restate. */
import * as restate from "@restatedev/restate-sdk";
import { sagaWorkflows } from "../../../src/restate.ts";
import { Ledger } from "./ledger.ts";
import { dyingStories } from "./dying.ts";
import { storiesOn } from "./stories.ts";

const { AMENDS_LEDGER: file = "", AMENDS_PORT: port = "" } = process.env;
const ledger = new Ledger(file);
const stories = { ...storiesOn(ledger), ...dyingStories(ledger) };
const sagas = Object.values(stories).map(({ saga }) => saga);

await restate.serve({ services: sagaWorkflows(restate, { sagas, grace: "100ms" }), port: Number(port) });
console.log("ready");
