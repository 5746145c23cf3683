/** Files, number checks, reminders, and signed-in browsers. */
import type {
  CheckSettlement,
  ClaimedCheck,
  MediaFile,
  MediaId,
  NumberCheckId,
  NumberId,
  Reminder,
  ReminderContent,
  ReminderId,
  ReminderRun,
  ReminderScope,
  SendingNumber,
  SignInLinkId,
  TimeZone,
} from "@messaging-service/core"
import { day, hour, minute } from "../../Records.ts"
import type { Chooser } from "../Chooser.ts"
import type { Methods } from "../Method.ts"
import { unknownId } from "../Side.ts"
import { anAcceptance, learnMessages } from "./ofMessages.ts"

export const aNewFile = (c: Chooser): Omit<MediaFile, "id"> => ({
  workspaceId: c.owner(),
  mode: c.mode(),
  fileName: c.one(["photo.png", "Bild ü.png", "a.pdf"]),
  type: c.one(["image", "file"]),
  mimeType: "image/png",
  size: 100 + c.below(900),
  storageKey: `file ${c.fresh()}`,
  createdAt: c.now,
})

const ofFile = (c: Chooser) => {
  const file = c.record<MediaFile>("media")
  return [c.getWorkspaceId(file), c.getMode(file), file?.id ?? c.id<MediaId>("media")] as const
}

export const ofMedia: Methods<"media"> = {
  reserve: {
    weight: 4,
    kind: "media",
    input: (c) => [aNewFile(c), c.one([10_000, 1500])],
    learn: (reservation, [file], c) => {
      if (reservation._tag === "Reserved") c.side.learn("media", { ...file, id: reservation.id })
    },
  },
  commit: { weight: 5, input: (c) => [c.id("media"), c.claim(), c.now] },
  discard: { weight: 1, input: (c) => [c.id("media")] },
  get: { kind: "media", input: (c) => [...ofFile(c)] },
  list: {
    kind: "media",
    input: (c) => {
      const [workspaceId, mode] = ofFile(c)
      return [workspaceId, mode, c.one([null, "image", "file"]), c.page("media")]
    },
  },
  find: { kind: "media", input: (c) => [c.id("media")] },
  missing: { kind: "media", input: (c) => [c.ids("media")] },
  delete: { weight: 1, kind: "media", input: (c) => [...ofFile(c)] },
  attach: {
    kind: "media",
    input: (c) => [aNewFile(c), c.one([10_000, 1500])],
    learn: (reservation, [file], c) => {
      if (reservation._tag === "Reserved") c.side.learn("media", { ...file, id: reservation.id })
    },
  },
  detach: { weight: 1, input: (c) => [c.id("media")] },
  sweepAttachments: {
    weight: 1,
    input: (c) => [{ now: c.now, unusedSince: c.now - c.one([0, hour]) }],
  },
  leftovers: {
    weight: 1,
    kind: "media",
    input: (c) => [{ reservedBefore: c.now - c.one([day, hour, 0]), limit: 1000 }],
    compared: (files) => new Set(files.map(({ storageKey }) => storageKey)),
  },
  removed: { weight: 1, input: (c) => [c.ids("media")] },
  forget: { weight: 1, input: (c) => [c.now - c.one([day, hour])] },
}

const aCheckSettlement = (c: Chooser): CheckSettlement => {
  const claimed = c.record<ClaimedCheck>("claimedCheck")
  const id = claimed?.id ?? c.id<NumberCheckId>("check")
  const lease = claimed?.lease ?? 1
  return c.below(3) < 2
    ? {
        _tag: "Answered",
        id,
        lease,
        answers: (claimed?.phones ?? [])
          .slice(0, c.once(3) ? 1 : 100)
          .map((phone) => ({ phone, status: c.one(["registered", "not_registered", "failed"]) })),
      }
    : { _tag: "Again", id, lease, notBefore: c.maybe(() => c.later()), tried: c.once(2) }
}

export const ofNumberChecks: Methods<"numberChecks"> = {
  insert: {
    weight: 3,
    kind: "check",
    input: (c) => {
      const number = c.needed<SendingNumber>("number")
      return [
        {
          workspaceId: number.workspaceId,
          mode: number.mode,
          numberId: number.id,
          name: c.maybe(() => c.name()),
          createdAt: c.now,
          phones: [c.phone(), ...c.some(3, () => c.phone())],
        },
        c.claim(),
      ]
    },
    learn: (checkInsertion, [check], c) => {
      if (checkInsertion._tag === "Made") c.side.learn("check", { ...check, id: checkInsertion.id })
    },
  },
  get: {
    kind: "check",
    input: (c) => {
      const check = c.record("check")
      return [c.scope(check), (check?.id ?? unknownId) as NumberCheckId]
    },
  },
  list: { kind: "check", input: (c) => [c.scope(c.record("check")), c.page("check")] },
  results: {
    kind: "result",
    input: (c) => [
      c.id("check"),
      c.maybe(() => c.one([["pending"], ["registered", "failed"]])),
      { before: null, limit: c.limit() },
    ],
  },
  claim: {
    weight: 4,
    kind: "check",
    input: (c) => [{ ...c.lease(), ...c.shares(), chunk: c.one([50, 1, 2]), owned: c.owned() }],
    learn: (claimed, _, c) => {
      for (const one of claimed) c.side.learn("claimedCheck", one)
    },
  },
  settle: { weight: 4, input: (c) => [aCheckSettlement(c), c.now] },
  forget: { weight: 1, input: (c) => [c.now - c.one([day, 0])] },
}

const aContent = (c: Chooser): ReminderContent => ({
  name: c.name(),
  active: !c.once(4),
  to: c.one([
    { kind: "phone", phone: c.phone() },
    { kind: "group", group: "Group" },
  ]),
  from: c.maybe(() => c.id<NumberId>("number")),
  text: c.text(),
  media: null,
  cron: "0 9 * * *",
  timezone: "Europe/Berlin" as TimeZone,
})

const ofReminder = (c: Chooser) => {
  const reminder = c.record<Reminder>("reminder")
  const scope: ReminderScope = { ...c.scope(reminder), ...(c.once(3) ? { mode: null } : {}) }
  return [scope, reminder?.id ?? c.id<ReminderId>("reminder")] as const
}

const aRun = (c: Chooser): ReminderRun => {
  const reminder = c.record<Reminder>("reminder")
  return {
    id: reminder?.id ?? c.id<ReminderId>("reminder"),
    revision: (reminder?.revision ?? 1) + (c.once(8) ? 1 : 0),
    dueAt: reminder?.nextRunAt ?? c.now,
    ranAt: c.now,
    nextRunAt: c.one([c.later(), null]),
    idempotency: c.claim(),
  }
}

const learnReminder = (c: Chooser, reminder: Reminder | null) => {
  if (reminder !== null) c.side.learn("reminder", reminder)
}

export const ofReminders: Methods<"reminders"> = {
  insert: {
    weight: 3,
    kind: "reminder",
    input: (c) => [
      {
        ...aContent(c),
        workspaceId: c.owner(),
        mode: c.mode(),
        nextRunAt: c.one([c.later(), null]),
        createdAt: c.now,
      },
      c.claim(),
    ],
    learn: (reminderInsertion, _, c) =>
      learnReminder(c, reminderInsertion._tag === "Inserted" ? reminderInsertion.reminder : null),
  },
  get: {
    weight: 4,
    kind: "reminder",
    input: (c) => [...ofReminder(c)],
    learn: (reminder, _, c) => learnReminder(c, reminder),
  },
  loadForRun: { kind: "reminder", input: (c) => [...ofReminder(c)] },
  // Its text says to ignore the first two, and no answer shows the third.
  created: {
    kind: "reminder",
    input: (c) => [c.id("reminder")],
    compared: (reminder) =>
      reminder && { ...reminder, nextRunAt: null, lastRun: null, revision: 1 },
  },
  list: {
    kind: "reminder",
    input: (c) => [ofReminder(c)[0], { active: c.one([null, true, false]) }, c.page("reminder")],
  },
  update: {
    input: (c) => {
      const reminder = c.record<Reminder>("reminder")
      return [
        reminder?.id ?? c.id("reminder"),
        reminder?.revision ?? 1,
        aContent(c),
        c.one([c.later(), null]),
      ]
    },
  },
  remove: { weight: 1, input: (c) => [...ofReminder(c), c.now] },
  due: {
    weight: 3,
    kind: "reminder",
    input: (c) => [c.now + c.one([0, day]), c.whole().limit],
    learn: (due, _, c) => {
      for (const { reminder } of due) learnReminder(c, reminder)
    },
  },
  run: {
    weight: 3,
    kind: "message",
    input: (c) => {
      const run = aRun(c)
      const reminder = c.recordWith<Reminder>("reminder", run.id)
      const numbers = c.side.known("number") as ReadonlyArray<Reminder>
      const own = numbers.find(({ workspaceId }) => workspaceId === reminder?.workspaceId)
      return [anAcceptance(c, (own as never) ?? c.number(), 1, null), run]
    },
    learn: (outcome, [acceptance], c) => {
      if (outcome._tag === "Accepted") learnMessages(c, acceptance, outcome.ids)
    },
  },
  advanceWithoutMessage: {
    input: (c) => [
      aRun(c),
      c.one([
        null,
        { outcome: "missed", code: null },
        { outcome: "refused", code: "invalid_timezone" },
      ]),
    ],
  },
  runs: { kind: "run", input: (c) => [c.id("reminder"), { before: null, limit: c.limit() }] },
  forget: { weight: 1, input: (c) => [c.now - c.one([day, 0])] },
}

const aMark = (c: Chooser) => c.one(["mark", "mark", "other mark", null])

const sessionHash = (c: Chooser): string =>
  c.record<{ readonly hash: string }>("session")?.hash ?? "1".repeat(64)

const aHolder = (c: Chooser) => {
  const workspaceId = c.once(3) ? null : c.owner()
  return {
    workspaceId,
    role: workspaceId === null ? "owner" : c.one(["owner", "administrator", "member"]),
    returnUrl: c.one([null, "https://example.com/back"]),
    createdAt: c.now,
    tokenMark: workspaceId === null ? "mark" : null,
  } as const
}

export const ofBrowserSessions: Methods<"browserSessions"> = {
  insert: {
    weight: 3,
    input: (c) => [{ ...aHolder(c), hash: c.hash(), expiresAt: c.later() }, c.one([10, 1, 2])],
    learn: (_, [session], c) => c.side.learn("session", session),
  },
  exchange: {
    weight: 3,
    input: (c) => [
      {
        hash: c.hash(),
        now: c.now,
        tokenMark: aMark(c),
        codeHash: c.record<{ readonly codeHash: string }>("code")?.codeHash ?? "2".repeat(64),
      },
      c.one([10, 1, 2]),
    ],
    learn: (session, [{ hash }], c) => {
      if (session !== null) c.side.learn("session", { ...session, hash })
    },
  },
  use: {
    weight: 3,
    input: (c) => [
      {
        hash: sessionHash(c),
        now: c.now,
        tokenMark: aMark(c),
        minuteStart: c.now - (c.now % minute),
      },
    ],
  },
  isValid: { input: (c) => [{ hash: sessionHash(c), now: c.now, tokenMark: aMark(c) }] },
  end: { weight: 1, input: (c) => [sessionHash(c)] },
  insertLink: {
    weight: 3,
    kind: "link",
    input: (c) => [
      {
        ...aHolder(c),
        codeHash: c.hash(),
        // A code ends before the session that it begins.
        codeExpiresAt: c.now + c.one([minute, 1, hour]),
        sessionMillis: c.one([day, hour]),
      },
      c.one([10, 2]),
    ],
    learn: (link, [{ codeHash, workspaceId }], c) => {
      if (link === null) return
      c.side.learn("link", { ...link, workspaceId: workspaceId ?? undefined })
      c.side.learn("code", { codeHash })
    },
  },
  links: { kind: "link", input: (c) => [c.getWorkspaceId(c.record("link")), c.page("link")] },
  revokeLink: {
    input: (c) => {
      const link = c.record("link")
      return [c.getWorkspaceId(link), (link?.id ?? unknownId) as SignInLinkId, c.now]
    },
  },
  forget: { weight: 1, input: (c) => [c.now, c.now - c.one([day, 0])] },
}
