/**
 * Filling a shelf, as a flow of events: the supplier, the warehouse and the shelf each take one event and answer with
 * another. None of them knows the others; the saga over them watches, and has the purchase cancelled when there is no
 * room.
 */
import { err, event, eventSaga, handler, ok, step } from "amends/events";
import { z } from "zod";

const goods = z.object({ restock: z.string(), sku: z.string(), count: z.number().int() });
const only = z.object({ restock: z.string() });
const refused = z.object({ restock: z.string(), why: z.string() });

export const StockLow = event("StockLow", goods);
const GoodsBought = event("GoodsBought", goods);
const SupplierRefused = event("SupplierRefused", refused);
const GoodsStored = event("GoodsStored", goods);
const NoRoom = event("NoRoom", refused);
const ShelfLabelled = event("ShelfLabelled", only);
const PrinterJammed = event("PrinterJammed", refused);
const ShelfFilled = event("ShelfFilled", only);
const RestockFailed = event("RestockFailed", refused);
const CancelPurchase = event("CancelPurchase", only);
const PurchaseCancelled = event("PurchaseCancelled", only);
const TooLate = event("TooLate", refused);

/** More pieces than this do not fit into the warehouse. */
const ROOM = 500;

const buy = handler("supplier.buy", {
  on: StockLow,
  ok: GoodsBought,
  err: SupplierRefused,
  handle: ({ restock, sku, count }) =>
    count > 0
      ? ok(GoodsBought({ restock, sku, count }))
      : err(SupplierRefused({ restock, why: "nothing ordered" })),
});

const store = handler("warehouse.store", {
  on: GoodsBought,
  ok: GoodsStored,
  err: NoRoom,
  handle: ({ restock, sku, count }) =>
    count > ROOM
      ? err(NoRoom({ restock, why: `${count} of ${sku}` }))
      : ok(GoodsStored({ restock, sku, count })),
});

const label = handler("shelf.label", {
  on: GoodsStored,
  ok: ShelfLabelled,
  err: PrinterJammed,
  handle: ({ restock }) => ok(ShelfLabelled({ restock })),
});

/** Registered like any other handler: so the saga waits for its answer before it says that all is undone. */
export const cancelPurchase = handler("supplier.cancel", {
  on: CancelPurchase,
  ok: PurchaseCancelled,
  err: TooLate,
  handle: ({ restock }) => ok(PurchaseCancelled({ restock })),
});

export const restock = eventSaga("restock", {
  trigger: StockLow,
  correlate: "restock",
  steps: [step("buy", buy, { compensation: CancelPurchase }), step("store", store), step("label", label)],
  onCompleted: (id) => ShelfFilled({ restock: id }),
  onFailed: (id, { error }) => RestockFailed({ restock: id, why: error }),
});
