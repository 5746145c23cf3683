/** The rows of the table, in the order in which they run. */
import type { Row } from "../measuring/Comparison.ts"
import { acceptRow } from "./acceptRow.ts"
import { attackRow } from "./attackRow.ts"
import { batchRow } from "./batchRow.ts"
import { deliveryRow } from "./deliveryRow.ts"
import { dispatchRow } from "./dispatchRow.ts"
import { handoverRow } from "./handoverRow.ts"
import { httpRow } from "./httpRow.ts"
import { idempotencyRow } from "./idempotencyRow.ts"
import { listRow } from "./listRow.ts"
import { liveRow, telegramLiveRow } from "./liveRow.ts"
import { sessionRow, telegramSessionRow } from "./sessionRow.ts"
import { stuckRow } from "./stuckRow.ts"

export const rows: ReadonlyArray<Row> = [
  acceptRow,
  httpRow,
  idempotencyRow,
  batchRow,
  dispatchRow,
  deliveryRow,
  stuckRow,
  listRow,
  handoverRow,
  attackRow,
  sessionRow,
  liveRow,
  telegramSessionRow,
  telegramLiveRow,
]
