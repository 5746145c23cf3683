/** Phones for numbers behind which there is none. */
import type { Ids } from "../id/Ids.ts"

/** Digits with country code, in a range that is kept free for fiction. */
export const madeUpPhone = (ids: typeof Ids.Service): string =>
  `1555${String(Number.parseInt(ids.hex(8), 16) % 10_000_000).padStart(7, "0")}`
