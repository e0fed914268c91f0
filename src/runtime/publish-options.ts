/** How an event is published, to handlers or to webhooks. */
export interface PublishOptions<Tx = unknown> {
  /**
   * Your own open transaction: the event exists exactly if it commits. Without one, the event is durable when `publish`
   * resolves.
   */
  readonly tx?: Tx;
}
