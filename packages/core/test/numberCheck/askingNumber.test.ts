import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { NumberId, WorkspaceId } from "../../src/model/Ids.ts"
import { askingNumber } from "../../src/service/NumberChecks.ts"
import type { SendingNumber } from "../../src/model/SendingNumber.ts"

const aNumber = (id: number, overrides: Partial<SendingNumber> = {}): SendingNumber => ({
  id: id as NumberId,
  workspaceId: 1 as WorkspaceId,
  phone: `1555000000${id}`,
  label: "",
  platform: "whatsapp",
  status: "connected",
  loginMethod: "qr",
  mode: "live",
  createdAt: 0,
  ...overrides,
})

const loggedOut = { status: "disconnected" } as const
const connecting = { status: "connecting" } as const
const telegram = { platform: "telegram" } as const

/** The id of the checking number, or the code and field of the refusal. */
const request = (
  from: number | null,
  numbers: ReadonlyArray<SendingNumber>,
  numberIds: ReadonlyArray<number> | null = null,
) => {
  const key = { numberIds: numberIds as ReadonlyArray<NumberId> | null }
  const found = askingNumber(from as NumberId | null, numbers, key)
  return Result.isSuccess(found) ? found.success.id : [found.failure.code, found.failure.field]
}

const required = ["from_required", "from"]

describe("the number that runs a check", () => {
  const rows: ReadonlyArray<readonly [what: string, found: unknown, expected: unknown]> = [
    ["is the named one", request(2, [aNumber(1), aNumber(2)]), 2],
    ["must be one of the workspace", request(3, [aNumber(1)]), ["number_not_found", "from"]],
    ["must be connected", request(1, [aNumber(1, loggedOut)]), ["number_not_connected", "from"]],
    [
      "must be connected, not just connecting",
      request(1, [aNumber(1, connecting)]),
      ["number_not_connected", "from"],
    ],
    ["must be of WhatsApp", request(1, [aNumber(1, telegram)]), ["validation_failed", "from"]],
    [
      "is checked for WhatsApp before its connection",
      request(1, [aNumber(1, { ...telegram, ...loggedOut })]),
      ["validation_failed", "from"],
    ],
    [
      "must be one of a limited key's",
      request(1, [aNumber(1, loggedOut), aNumber(2)], [2]),
      ["number_not_allowed", "from"],
    ],
    ["is a limited key's own", request(2, [aNumber(1), aNumber(2)], [2]), 2],
    [
      "is not found outside the workspace, for a limited key too",
      request(9, [aNumber(1)], [9]),
      ["number_not_found", "from"],
    ],
    [
      "is the only connected one",
      request(null, [aNumber(1, loggedOut), aNumber(2), aNumber(3, connecting)]),
      2,
    ],
    [
      "is the only connected one besides Telegram",
      request(null, [aNumber(1, telegram), aNumber(2)]),
      2,
    ],
    ["is asked for when several are connected", request(null, [aNumber(1), aNumber(2)]), required],
    ["is asked for when none is connected", request(null, [aNumber(1, loggedOut)]), required],
    ["is asked for when there are none", request(null, []), required],
    ["is never a Telegram account", request(null, [aNumber(1, telegram)]), required],
    [
      "is asked for when the only one is not a limited key's",
      request(null, [aNumber(1)], [2]),
      required,
    ],
    [
      "is asked for when several are connected, even if one alone is a limited key's",
      request(null, [aNumber(1), aNumber(2)], [2]),
      required,
    ],
  ]
  it.effect.each(rows)("%s", ([, found, expected]) =>
    Effect.sync(() => assert.deepStrictEqual(found, expected)),
  )
})
