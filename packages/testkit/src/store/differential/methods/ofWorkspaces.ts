/** Workspaces, with their keys, contacts and the salt of their callbacks. */
import { keyLimit, dayStart, minuteStart } from "@messaging-service/core"
import type {
  ContactId,
  KeyId,
  NewWorkspace,
  NumberId,
  Plan,
  WorkspaceId,
} from "@messaging-service/core"
import type { Chooser } from "../Chooser.ts"
import type { Methods } from "../Method.ts"
import { unknownId } from "../Side.ts"
import { aPacing } from "./ofNumbers.ts"

const aPlan = (c: Chooser): Plan | null =>
  c.below(8) === 7
    ? null
    : {
        name: c.name(),
        messagesRemaining: c.one([null, null, 3, 10, 0]),
        reminders: !c.once(4),
        qrCodeApi: !c.once(4),
        maxNumbers: c.one([null, null, 1, 3]),
        mediaStorageBytes: c.one([10_000, 2000]),
      }

const aNewWorkspace = (c: Chooser): NewWorkspace => ({
  name: c.name(),
  demo: c.once(8),
  accountDisabled: c.once(8),
  apiV2Enabled: !c.once(8),
  plan: aPlan(c),
  retentionDays: c.one([null, 1, 30]),
  createdAt: c.now,
})

const admitsSome = (c: Chooser) => ({ v1: !c.once(6), v2: !c.once(6) })

const aChange = (c: Chooser) =>
  c.one([
    { name: "Changed" },
    { accountDisabled: false },
    { accountDisabled: true },
    { plan: aPlan(c) },
    { retentionDays: 7 },
    { demo: c.once(2), apiV2Enabled: c.once(2) },
  ])

const toHash = (c: Chooser): string =>
  c.record<{ readonly hash: string }>("issued")?.hash ?? "0".repeat(64)

const aUse = (c: Chooser) => ({
  hash: toHash(c),
  now: c.now,
  minuteStart: minuteStart(c.now),
  clientAddress: c.one([null, "192.0.2.1", "2001:db8::1"]),
})

export const ofWorkspaces: Methods<"workspaces"> = {
  insert: {
    weight: 3,
    kind: "workspace",
    input: (c) => [aNewWorkspace(c), admitsSome(c)],
    learn: (workspace, _, c) => c.side.learn("workspace", workspace),
  },
  ensure: {
    weight: 1,
    kind: "workspace",
    input: (c) => [
      aNewWorkspace(c),
      admitsSome(c),
      c.some(2, () => ({
        number: {
          mode: c.mode(),
          phone: c.phone().slice(1),
          label: c.text(),
          platform: "whatsapp",
          status: "connected",
          loginMethod: "qr",
          createdAt: c.now,
        },
        pacing: aPacing(c),
      })),
    ],
    learn: (workspace, _, c) => {
      if (workspace !== null) c.side.learn("workspace", workspace)
    },
  },
  get: { kind: "workspace", input: (c) => [c.workspaceId()] },
  list: { kind: "workspace", input: (c) => [c.page("workspace")] },
  update: {
    weight: 3,
    kind: "workspace",
    input: (c) => {
      const decided = { change: aChange(c), admits: admitsSome(c) }
      return [c.workspaceId(), Object.assign(() => decided, { shows: decided }), c.now]
    },
  },
  delete: {
    weight: 1,
    input: (c) => [c.once(2) ? c.workspaceId() : (unknownId as WorkspaceId), c.now],
    learn: (_, [id], c) => c.side.learn("deleted", { id }),
  },
  isEmpty: { weight: 1, input: () => [] },
  admit: {
    weight: 4,
    input: (c) => [{ ...aUse(c), version: c.one([2, 2, 1]), dayStart: dayStart(c.now) }],
  },
  admitV1: {
    weight: 3,
    input: (c) => [
      {
        ...aUse(c),
        workspaceId: c.maybe(() =>
          c.getWorkspaceId(c.record<{ readonly key: unknown }>("issued")?.key),
        ),
      },
    ],
  },
  insertKey: {
    weight: 4,
    kind: "key",
    input: (c) => [
      {
        workspaceId: c.owner(),
        version: c.one([2, 2, 1]),
        name: c.name(),
        mode: c.mode(),
        scopes: c.one([["messages:send", "messages:read"], ["media"], []]),
        numberIds: c.maybe(() => c.ids<NumberId>("number")),
        expiresAt: c.maybe(() => c.later()),
        last4: "wxyz",
        createdAt: c.now,
        hash: c.hash(),
      },
      c.one([keyLimit, 2]),
    ],
    learn: (key, [{ hash }], c) => {
      if (key === null) return
      c.side.learn("key", key)
      c.side.learn("issued", { key, hash })
    },
  },
  listKeys: { kind: "key", input: (c) => [c.workspaceId()] },
  revokeKey: {
    kind: "key",
    input: (c) => {
      const key = c.record("key")
      return [c.getWorkspaceId(key), (key?.id ?? unknownId) as KeyId, c.now]
    },
  },
  insertContact: {
    weight: 3,
    kind: "contact",
    input: (c) => {
      const username = c.maybe(() => c.one(["@Someone", "@someone", "someone_else", "tg:12345"]))
      return [
        {
          workspaceId: c.owner(),
          name: c.name(),
          phone: username === null ? c.phone() : null,
          username,
          createdAt: c.now,
        },
      ]
    },
    learn: (inserted, _, c) => {
      if (inserted._tag === "Inserted") c.side.learn("contact", inserted.contact)
    },
  },
  listContacts: { kind: "contact", input: (c) => [c.workspaceId(), c.page("contact")] },
  deleteContact: {
    input: (c) => {
      const contact = c.record("contact")
      return [c.getWorkspaceId(contact), (contact?.id ?? unknownId) as ContactId]
    },
  },
  callbackSalt: { weight: 1, input: (c) => [c.workspaceId()] },
  putCallbackSalt: { weight: 1, input: (c) => [c.workspaceId(), `salt ${c.fresh()}`] },
}
