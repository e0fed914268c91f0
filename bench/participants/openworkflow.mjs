// What both openworkflow participants share. A handle's result() looks once a second, so that a run counts as ended when its
// end is written instead: that is when the backend's completion resolves.
import { OpenWorkflow } from "openworkflow";

const names = ["a", "b", "c", "d", "e"];

/** Its worker sleeps when a claim finds nothing: a backlog as long as what it runs keeps it awake. */
export async function openWorkflow(backend, lanes) {
  const concurrency = Math.ceil(lanes / 2);
  const waiting = new Map();
  const complete = backend.completeWorkflowRun.bind(backend);
  backend.completeWorkflowRun = async (parameters) => {
    const run = await complete(parameters);
    const resolve = waiting.get(parameters.workflowRunId);
    if (resolve) resolve();
    else waiting.set(parameters.workflowRunId, undefined);
    return run;
  };
  const client = new OpenWorkflow({ backend });
  const five = client.defineWorkflow({ name: "five" }, async ({ step }) => {
    let last;
    for (const name of names) last = await step.run({ name }, async () => ({ n: 1 }));
    return last;
  });
  const worker = client.newWorker({ concurrency });
  await worker.start();

  return {
    async one(_lane, n) {
      const { id } = (await five.run({ n })).workflowRun;
      // The worker may have been faster than the answer to run().
      if (!waiting.has(id)) await new Promise((resolve) => waiting.set(id, resolve));
      waiting.delete(id);
    },
    async close() {
      await worker.stop();
      await backend.stop();
    },
  };
}
