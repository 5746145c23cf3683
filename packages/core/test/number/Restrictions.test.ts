/** Which change of restrictions is announced, when WhatsApp is asked again, and what callers read. */
import { assert, it } from "@effect/vitest"
import {
  currentRestrictions,
  nextRestrictionsCheck,
  reportedRestrictions,
  restrictionReport,
  restrictionsEvent,
  restrictionStates,
  unknownRestrictions,
} from "../../src/index.ts"
import type {
  EventId,
  NumberId,
  Restrictions,
  RestrictionState,
  SendingNumber,
  WorkspaceId,
} from "../../src/index.ts"

const noon = Date.UTC(2030, 0, 31, 12)
const minute = 60_000
const hour = 60 * minute

const number: SendingNumber = {
  id: 7 as NumberId,
  workspaceId: 1 as WorkspaceId,
  mode: "live",
  phone: "15551234567",
  label: "Shop",
  platform: "whatsapp",
  status: "connected",
  loginMethod: "qr",
  createdAt: noon,
}

const closed: Restrictions = {
  state: "new_chats_closed",
  until: noon + hour,
  reason: "DEFAULT",
  newChats: { limit: 100, used: 42, resetsAt: noon + 2 * hour, warning: "first" },
  checkedAt: noon,
}

/** The events that a sequence of states makes. */
const eventTypesAfter = (...states: ReadonlyArray<RestrictionState>) => {
  let isReported = false
  return states.flatMap((state) => {
    const type = restrictionReport(isReported, state)
    if (type === undefined) return []
    isReported = type === "number.restricted"
    return [type]
  })
}

it("closed new chats are announced once, and their end once", () => {
  assert.deepStrictEqual(eventTypesAfter("none", "unknown", "none"), [])
  assert.deepStrictEqual(
    eventTypesAfter("new_chats_closed", "new_chats_closed", "none", "none", "new_chats_closed"),
    ["number.restricted", "number.unrestricted", "number.restricted"],
  )
})

it("a state that is unknown in between announces nothing, and loses nothing", () => {
  assert.deepStrictEqual(
    eventTypesAfter("new_chats_closed", "unknown", "new_chats_closed", "unknown", "none"),
    ["number.restricted", "number.unrestricted"],
  )
  for (const isReported of [true, false]) {
    assert.isUndefined(restrictionReport(isReported, "unknown"))
  }
  assert.deepStrictEqual(restrictionStates, ["none", "new_chats_closed", "unknown"])
})

it("WhatsApp is asked at once when it never was, and then every six hours", () => {
  assert.strictEqual(nextRestrictionsCheck({ checkedAt: null, until: noon }, noon), 0)
  assert.strictEqual(nextRestrictionsCheck({ checkedAt: noon, until: null }, null), noon + 6 * hour)
})

it("WhatsApp is asked at the end of closed new chats, and a minute later while they stay closed", () => {
  assert.strictEqual(nextRestrictionsCheck(closed, null), noon + hour)
  const late = { checkedAt: noon + hour, until: noon + hour }
  assert.strictEqual(nextRestrictionsCheck(late, null), noon + hour + minute)
})

it("WhatsApp is asked after a refusal, at most once a minute", () => {
  const known = { checkedAt: noon, until: null }
  assert.strictEqual(nextRestrictionsCheck(known, noon + 1), noon + minute)
  assert.strictEqual(nextRestrictionsCheck(known, noon + hour), noon + minute)
  assert.strictEqual(nextRestrictionsCheck(known, noon - 1), noon + 6 * hour)
})

it("a number that is not connected has no known restrictions", () => {
  assert.deepStrictEqual(currentRestrictions(number, closed), closed)
  assert.deepStrictEqual(currentRestrictions(number, null), unknownRestrictions(null))
  for (const status of ["disconnected", "connecting"] as const) {
    assert.deepStrictEqual(currentRestrictions({ status }, closed), unknownRestrictions(noon))
  }
})

it("the event tells of the number and its restrictions, and is read back", () => {
  const id = `evt_${"0".repeat(24)}` as EventId
  const event = restrictionsEvent({ id, type: "number.restricted" }, number, closed, noon)
  assert.deepStrictEqual(JSON.parse(event.body), {
    id,
    type: "number.restricted",
    created_at: "2030-01-31T12:00:00Z",
    data: {
      number: { id: 7, phone: "15551234567", platform: "whatsapp", status: "connected" },
      restrictions: {
        number_id: 7,
        state: "new_chats_closed",
        until: "2030-01-31T13:00:00Z",
        reason: "DEFAULT",
        new_chats: {
          limit: 100,
          used: 42,
          resets_at: "2030-01-31T14:00:00Z",
          warning: "first",
        },
        checked_at: "2030-01-31T12:00:00Z",
      },
    },
  })
  for (const restrictions of [closed, unknownRestrictions(null)]) {
    const { body } = restrictionsEvent(
      { id, type: "number.restricted" },
      number,
      restrictions,
      noon,
    )
    assert.deepStrictEqual<unknown>(reportedRestrictions(body), {
      number: { id: 7, phone: "15551234567", platform: "whatsapp", status: "connected" },
      restrictions: { numberId: number.id, ...restrictions },
    })
  }
})
