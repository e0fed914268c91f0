/**
 * The services that the order process calls, as fakes with books: a request under a key that was seen before is the same request,
 * and whatever is undone is undone by the key of the act, which is known even where its answer is not.
 */
export class Shop {
  readonly reserved = new Map<string, string>();
  readonly invoices = new Map<string, number>();
  readonly payments = new Map<string, number>();
  readonly labels = new Map<string, string>();
  readonly pickups = new Set<string>();
  readonly mails: string[] = [];
  readonly #sent = new Set<string>();
  /** Articles that are out of stock. */
  readonly soldOut: ReadonlySet<string>;

  constructor(soldOut: readonly string[] = []) {
    this.soldOut = new Set(soldOut);
  }

  /** False if the article is sold out. */
  reserve(sku: string, key: string): boolean {
    if (this.soldOut.has(sku)) return false;
    this.reserved.set(key, sku);
    return true;
  }

  release(key: string): void {
    this.reserved.delete(key);
  }

  invoice(cents: number, key: string): void {
    this.invoices.set(key, cents);
  }

  voidInvoice(key: string): void {
    this.invoices.delete(key);
  }

  book(cents: number, key: string): void {
    this.payments.set(key, cents);
  }

  refund(key: string): void {
    this.payments.delete(key);
  }

  makeLabel(orderId: string, key: string): { readonly parcel: string } {
    this.labels.set(key, orderId);
    return { parcel: `parcel of ${orderId}` };
  }

  cancelLabel(key: string): void {
    this.labels.delete(key);
  }

  callCarrier(key: string): void {
    this.pickups.add(key);
  }

  /** The carrier brings the parcel back, or does not come at all. */
  sendBack(key: string): void {
    this.pickups.delete(key);
  }

  mail(text: string, key: string): void {
    if (!this.#sent.has(key)) this.mails.push(text);
    this.#sent.add(key);
  }

  /** What is left in the books. After an order was taken back, that is nothing. */
  get books(): string {
    const { reserved, invoices, payments, labels, pickups } = this;
    const total = [...payments.values()].reduce((sum, cents) => sum + cents, 0);
    return `${reserved.size} reserved, ${invoices.size} invoiced, ${total} cents paid, ${labels.size} labels, ${pickups.size} parcels`;
  }
}
