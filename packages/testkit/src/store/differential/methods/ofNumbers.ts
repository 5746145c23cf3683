/** Numbers, their connections, and attempts to link them. */
import {
  capWarnings,
  connectionCallback,
  linkingMillis,
  restrictionStates,
} from "@messaging-service/core"
import type {
  Callback,
  ConnectionReason,
  LeasedAttempt,
  LinkingAttempt,
  LinkingId,
  LinkingView,
  Mode,
  NewAttempt,
  NumberEventIds,
  NumberId,
  Pacing,
  QuotaLimit,
  Restrictions,
  SendingNumber,
} from "@messaging-service/core"
import { day, minute, oneSecond } from "../../Records.ts"
import type { Chooser } from "../Chooser.ts"
import type { Methods } from "../Method.ts"

export const aPacing = (c: Chooser): Pacing | null =>
  c.maybe(() => ({
    minIntervalMillis: c.one([null, oneSecond]),
    jitterMillis: null,
    perMinute: c.one([null, 1, 2]),
    perHour: c.one([null, 3]),
    newRecipientsPerDay: c.one([null, 1]),
  }))

const aReason = (c: Chooser): ConnectionReason | null =>
  c.one([null, "logged_out", "banned", "restricted", "client_outdated", "connection_lost"])

export const someEvents = (c: Chooser): NumberEventIds => ({
  status: c.eventId(),
  pause: c.eventId(),
  gap: c.eventId(),
})

const someRestrictions = (c: Chooser): Restrictions => ({
  state: c.one(restrictionStates),
  until: c.maybe(() => c.later()),
  reason: c.maybe(() => c.text()),
  newChats: c.maybe(() => ({
    limit: c.one([null, 100]),
    used: c.one([0, 42]),
    resetsAt: c.maybe(() => c.later()),
    warning: c.one(capWarnings),
  })),
  checkedAt: c.maybe(() => c.now),
})

export const aCap = (c: Chooser): QuotaLimit => ({
  messages: c.one([1000, 1, 2]),
  windowMillis: c.one([day, minute]),
})

const aMode = (c: Chooser): Mode => c.one(["live", "live", "live", "live", "test"])

const aNewNumber = (c: Chooser): Omit<SendingNumber, "id"> => ({
  workspaceId: c.owner(),
  mode: aMode(c),
  phone: c.once(5) ? null : c.phone().slice(1),
  label: c.text(),
  platform: c.one(["whatsapp", "whatsapp", "telegram"]),
  status: c.one(["connected", "connected", "connected", "disconnected"]),
  loginMethod: c.one(["qr", "phone_code"]),
  createdAt: c.now,
})

/** A callback of a number; its body is opaque, so that it holds no id of a store. */
const aCallback = (c: Chooser, number: SendingNumber, url: string): Callback => {
  const eventId = c.eventId()
  return {
    ...connectionCallback(
      eventId,
      c.one(["connected", "disconnected", "qr-generated"]),
      number,
      url,
      c.now,
    ),
    body: `form ${eventId}`,
  }
}

const anAttempt = (c: Chooser, mode: Mode): NewAttempt => ({
  id: `attempt${c.fresh()}` as LinkingId,
  mode,
  method: c.one(["qr", "phone_code"]),
  phone: c.maybe(() => c.phone().slice(1)),
  requestedAt: c.now,
  endsAt: c.now + linkingMillis,
  linksAt: mode === "test" ? c.now + 5 * oneSecond : null,
  ...aView(c),
  callbackUrl: c.maybe(() => c.url()),
  pacing: aPacing(c),
})

const aView = (c: Chooser): LinkingView => ({
  qrText: c.maybe(() => `qr ${c.fresh()}`),
  qrExpiresAt: c.maybe(() => c.later()),
  pairingCode: c.maybe(() => ({ code: `code ${c.fresh()}`, expiresAt: c.later() })),
  linking: c.once(4),
})

const chooseLinking = (c: Chooser) => {
  const attempt = c.record<LinkingAttempt>("linking")
  const number =
    attempt === undefined ? undefined : c.recordWith<SendingNumber>("number", attempt.numberId)
  return {
    id: attempt?.id ?? ("none" as LinkingId),
    number: number ?? c.number(),
    lease: c.record<LeasedAttempt>("heldLinking")?.lease ?? 1,
  }
}

const learnNumber = (number: SendingNumber | null, c: Chooser): void => {
  if (number !== null) c.side.learn("number", number)
}

const ofNumber = (c: Chooser) => {
  const number = c.number()
  return [c.getWorkspaceId(number), number.id] as const
}

export const ofNumbers: Methods<"numbers"> = {
  insert: {
    weight: 5,
    kind: "number",
    input: (c) => [aNewNumber(c), aPacing(c)],
    learn: (number, _, c) => learnNumber(number, c),
  },
  insertNew: {
    kind: "number",
    input: (c) => [aNewNumber(c), aPacing(c), c.one([null, 1, 3])],
    learn: (numberInsertion, _, c) =>
      learnNumber(numberInsertion._tag === "Inserted" ? numberInsertion.number : null, c),
  },
  get: { kind: "number", input: (c) => [...ofNumber(c)] },
  find: { kind: "number", input: (c) => [c.id("number")] },
  callbackUrl: { weight: 1, input: (c) => [c.id("number")] },
  list: { kind: "number", input: (c) => [c.workspaceId()] },
  settings: { kind: "number", input: (c) => [c.ids<NumberId>("number")] },
  change: {
    kind: "number",
    input: (c) => [
      ...ofNumber(c),
      c.one([
        { label: "changed" },
        { pacing: { perMinute: 2 } },
        { pacing: { minIntervalMillis: null, newRecipientsPerDay: 1 } },
        { proxy: { host: "proxy.example.com", port: 1080, url: `sealed ${c.fresh()}` } },
        { proxy: null },
      ]),
      c.now,
    ],
  },
  setStatus: {
    weight: 3,
    kind: "number",
    input: (c) => {
      const number = c.number()
      return [
        number.id,
        c.one(["connected", "disconnected", "connected", "connecting"]),
        c.once(4) ? c.phone().slice(1) : undefined,
        c.now,
        c.maybe(() => aCallback(c, number, c.url())),
        aReason(c),
        someEvents(c),
      ]
    },
  },
  restrict: {
    weight: 3,
    kind: "number",
    input: (c) => [c.number().id, someRestrictions(c), c.now, c.eventId(), c.below(300_000)],
  },
  restrictions: { weight: 1, kind: "number", input: (c) => [...ofNumber(c)] },
  remove: { weight: 1, input: (c) => [...ofNumber(c), c.now] },
  connection: { weight: 3, kind: "number", input: (c) => [...ofNumber(c), c.now, aCap(c)] },
  connections: {
    weight: 1,
    kind: "number",
    input: (c) => [c.workspaceId(), c.now, aCap(c), c.limit()],
  },
  reportConnections: {
    input: (c) => [
      c.ids<NumberId>("number", 3).map((numberId) => ({
        numberId,
        state: c.one(["connected", "connecting", "waiting", "disconnected"]),
        reason: aReason(c),
        since: c.now,
        lastSeenAt: c.maybe(() => c.now),
        reconnects: c.below(3),
      })),
      c.now,
    ],
  },
  addLinking: {
    weight: 3,
    kind: "number",
    input: (c) => {
      const { status: _, ...number } = aNewNumber(c)
      return [number, anAttempt(c, number.mode), c.one([null, 2]), c.claim()]
    },
    learn: (outcome, [, attempt], c) => {
      if (outcome._tag !== "Begun") return
      learnNumber(outcome.number, c)
      c.side.learn("linking", { ...attempt, numberId: outcome.number.id })
    },
  },
  reconnect: {
    kind: "number",
    input: (c) => {
      const number = c.number()
      return [c.getWorkspaceId(number), number.id, anAttempt(c, number.mode), c.claim()]
    },
    learn: (outcome, [, numberId, attempt], c) => {
      if (outcome._tag === "Begun") c.side.learn("linking", { ...attempt, numberId })
    },
  },
  getLinking: { input: (c) => [c.id("number")] },
  claimLinkings: {
    weight: 3,
    input: (c) => [{ ...c.lease(), ...c.shares(), owned: c.owned() }],
    learn: (leased, _, c) => {
      for (const one of leased) c.side.learn("heldLinking", one)
    },
  },
  renewLinkings: {
    input: (c) => {
      const leased = c.record<LeasedAttempt>("heldLinking")
      return [
        leased === undefined ? [] : [{ id: leased.attempt.id, lease: leased.lease }],
        c.later(),
      ]
    },
  },
  showLinking: {
    input: (c) => {
      const { id, lease, number } = chooseLinking(c)
      return [id, lease, aView(c), c.maybe(() => aCallback(c, number, c.url()))]
    },
  },
  isLinkingClaimed: { input: (c) => [chooseLinking(c).id, c.now] },
  linked: {
    kind: "number",
    input: (c) => {
      const { id, number } = chooseLinking(c)
      const url = c.url()
      const reports = c.maybe(() => ({
        connected: aCallback(c, number, url),
        disconnected: aCallback(c, number, url),
      }))
      return [id, c.phone().slice(1), c.now, reports, someEvents(c)]
    },
  },
  abandonLinking: {
    input: (c) => {
      const { id, number } = chooseLinking(c)
      const callback = c.maybe(() => aCallback(c, number, c.url()))
      return [id, { at: c.now, reason: aReason(c) ?? "link_expired" }, callback, someEvents(c)]
    },
  },
  lapsedLinkings: { weight: 1, input: (c) => [c.now, c.limit()] },
  dueTestLinkings: { weight: 1, input: (c) => [c.now, c.limit()] },
}
