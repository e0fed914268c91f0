/** The types that Amends expects of the SDK, held against those that it has. `npm run types` checks them; nothing runs. */
import type { WorkflowContext, WorkflowSharedContext } from "@restatedev/restate-sdk";
import type { RunContext, SharedContext } from "../../../src/restate/sdk.ts";

export const asRunContext = (context: WorkflowContext): RunContext => context;
export const asSharedContext = (context: WorkflowSharedContext): SharedContext => context;
