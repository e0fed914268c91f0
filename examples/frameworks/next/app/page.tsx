import type { ReactNode } from "react";

export default function Page(): ReactNode {
  return <p>POST an order to /api/orders.</p>;
}
