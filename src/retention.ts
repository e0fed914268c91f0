/** How long what has ended is kept: the option `retention` of `new Amends`, and what an archive holds. */
export { Retention, type RetentionOptions } from "./operate/retention/retention.ts";
export {
  type EndedPolicy,
  type OutboxPolicy,
  type RetentionPolicy,
  type SagaPolicy,
} from "./operate/retention/policy.ts";
export { type ArchivedSaga } from "./sagas/retention/archive.ts";
