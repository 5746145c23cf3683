/** Waits until no lane is in a worker's hands: what was handed over is then settled. */
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import type { BenchDatabase } from "../database/BenchDatabase.ts"
import { CheckFailed } from "../measuring/checks.ts"

const inHand = "select count(*) from lanes where lease_until is not null"

export const waitUntilSettled = (database: BenchDatabase) =>
  processes
    .waitUntil(
      "every lane is settled",
      Effect.map(database.count(inHand), (lanes) => (lanes === 0 ? true : undefined)),
    )
    .pipe(Effect.mapError(({ message }) => new CheckFailed({ message })))
