/**
 * Typed commands for the services, without HTTP. The rules of the request body apply: a command is
 * refused with the same code on the same field.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  Connections,
  Contacts,
  Keys,
  MediaDirectory,
  Numbers,
  Workspaces,
} from "../../src/index.ts"
import type {
  Caller,
  Code,
  ConnectNumber,
  CreateContact,
  CreateKey,
  CreateNumber,
  CreateWorkspace,
  ListMedia,
  NumberId,
  Refusal,
  StoreUnavailable,
  WorkspaceId,
} from "../../src/index.ts"
import { refusal } from "./Operations.ts"
import { aKey, aSender, inAService } from "./Service.ts"

interface TestSender {
  readonly key: Caller
  readonly limited: Caller
  readonly number: NumberId
  readonly workspace: WorkspaceId
}

type Services = Connections | Contacts | Keys | MediaDirectory | Numbers | Workspaces

interface Operation {
  readonly right: object
  readonly submit: (
    sender: TestSender,
    command: object,
  ) => Effect.Effect<unknown, Refusal | StoreUnavailable, Services>
  /** Codes by field, and values that each one refuses. */
  readonly wrong: Readonly<Record<string, readonly [Code, ...ReadonlyArray<unknown>]>>
}

const noDate = new Date(Number.NaN)
const aDate = new Date(0)
const long = (length: number) => "n".repeat(length)

/** Wrong for every field: no text, number, list or boolean. */
const strange = [{}, aDate, noDate, 1n, Symbol("value")] as const
const noText = [...strange, null, 1, true, []] as const
const noTruth = [...strange, null, 0, 1, "true", []] as const
const noId = [
  ...strange,
  true,
  "1",
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 53,
  [],
] as const
const noAmount = [...noId, -1] as const

const plan = {
  name: "Small",
  messagesRemaining: 5,
  reminders: true,
  qrCodeApi: true,
  maxNumbers: null,
  mediaStorageBytes: 0,
}

const planned = (field: string, value: unknown) => ({ ...plan, [field]: value })

/** The rules of a plan's fields, as values of `plan`. */
const wrongPlans: Operation["wrong"] = Object.fromEntries(
  Object.entries({
    name: ["", long(101), ...noText],
    messagesRemaining: noAmount,
    reminders: noTruth,
    qrCodeApi: noTruth,
    maxNumbers: noAmount,
    mediaStorageBytes: [null, ...noAmount],
    colour: ["red"],
  }).map(([field, values]) => [
    `plan.${field}`,
    ["validation_failed", ...values.map((value) => planned(field, value))],
  ]),
)

const wrongWorkspace: Operation["wrong"] = {
  name: ["validation_failed", "", long(101), ...noText],
  demo: ["validation_failed", ...noTruth],
  apiV2Enabled: ["validation_failed", ...noTruth],
  plan: ["validation_failed", true, "Unlimited", 1, []],
  ...wrongPlans,
  colour: ["validation_failed", "red"],
}

const listing = {
  limit: ["validation_failed", 0, 101, 1.5, -1, Number.NaN, "x", true],
  cursor: ["invalid_cursor", "", "x", "1.aa"],
  colour: ["validation_failed", "red"],
} as const satisfies Operation["wrong"]

const operations: Readonly<Record<string, Operation>> = {
  CreateWorkspace: {
    right: { name: "Example", demo: false, apiV2Enabled: true, plan },
    submit: (_, command) =>
      Workspaces.use((all) => all.create("owner", command as CreateWorkspace)),
    wrong: { ...wrongWorkspace, accountDisabled: ["validation_failed", true] },
  },
  ChangeWorkspace: {
    right: { accountDisabled: false, plan: null },
    submit: ({ workspace }, command) =>
      Workspaces.use((all) => all.update("owner", workspace, command)),
    wrong: { ...wrongWorkspace, accountDisabled: ["validation_failed", ...noTruth] },
  },
  CreateKey: {
    right: { version: 2, name: "Key" },
    submit: ({ workspace }, command) =>
      Keys.use((all) => all.create("owner", workspace, command as CreateKey)),
    wrong: {
      version: ["validation_failed", 0, 3, "2", null, true, ...strange],
      name: ["validation_failed", "", long(51), ...noText],
      mode: ["validation_failed", "demo", "", ...noText],
      scopes: [
        "validation_failed",
        "some",
        [],
        1,
        null,
        Array.from({ length: 101 }, () => "media"),
      ],
      "scopes[0]": ["validation_failed", ["everything"], [1], [null]],
      numberIds: ["validation_failed", [], "all", 1, Array.from({ length: 1001 }, () => 1)],
      "numberIds[0]": ["validation_failed", ["1"], [1.5], [null], [aDate]],
      expiresIn: ["validation_failed", "7d", 30, aDate, ""],
      colour: ["validation_failed", "red"],
    },
  },
  "CreateKey of version 1": {
    right: { version: 1 },
    submit: ({ workspace }, command) =>
      Keys.use((all) => all.create("owner", workspace, command as CreateKey)),
    wrong: {
      name: ["validation_failed", "Mine"],
      mode: ["validation_failed", "live"],
      expiresIn: ["validation_failed", null],
    },
  },
  CreateNumber: {
    right: { platform: "telegram", phone: "+15550000200", label: "", status: "disconnected" },
    submit: ({ workspace }, command) =>
      Numbers.use((all) => all.create("owner", workspace, command as CreateNumber)),
    wrong: {
      platform: ["validation_failed", "sms", "", ...noText],
      phone: ["invalid_phone", "", "0123", "15550000200"],
      label: ["validation_failed", long(101), ...noText],
      status: ["validation_failed", "connecting", ...noText],
      colour: ["validation_failed", "red"],
    },
  },
  ChangeNumber: {
    right: { label: "Support" },
    submit: ({ number, workspace }, command) =>
      Numbers.use((all) => all.update("owner", workspace, number, command)),
    wrong: {
      label: ["validation_failed", long(101), ...noText],
      phone: ["validation_failed", "+15550000200"],
    },
  },
  CreateContact: {
    right: { name: "Jane", phone: "+15550000001" },
    submit: ({ workspace }, command) =>
      Contacts.use((all) => all.create("owner", workspace, command as CreateContact)),
    wrong: {
      name: ["validation_failed", "", long(101), ...noText],
      phone: ["invalid_phone", "", "0123"],
      username: ["invalid_username", "", "jane"],
      colour: ["validation_failed", "red"],
    },
  },
  ConnectNumber: {
    right: { loginMethod: "phone_code", phone: "+15550000300" },
    submit: ({ key }, command) => Connections.use((all) => all.connect(key, command, null)),
    wrong: {
      loginMethod: ["validation_failed", "sms", ...noText],
      phone: ["invalid_phone", "", "0123", "15550000300"],
      numberId: ["validation_failed", null, ...noId],
      colour: ["validation_failed", "red"],
    },
  },
  "ConnectNumber of a limited caller": {
    right: {},
    submit: ({ limited }, command) =>
      Connections.use((all) => all.connect(limited, command as ConnectNumber, null)),
    wrong: { numberId: ["validation_failed", null, ...noId] },
  },
  ListMedia: {
    right: { type: "image", limit: 100 },
    submit: ({ key }, command) => MediaDirectory.use((all) => all.list(key, command as ListMedia)),
    wrong: { ...listing, type: ["validation_failed", "video", "", 1, true, {}] },
  },
  "ListPage of workspaces": {
    right: { limit: 1 },
    submit: (_, command) => Workspaces.use((all) => all.list(command)),
    wrong: listing,
  },
  "ListPage of contacts": {
    right: {},
    submit: ({ workspace }, command) =>
      Contacts.use((all) => all.list("owner", workspace, command)),
    wrong: listing,
  },
}

const aWholeSender = Effect.gen(function* () {
  const { key, number, workspace } = yield* aSender()
  const limited = yield* aKey(workspace, { numberIds: [number] })
  return { key, limited, number, workspace }
})

/** The command with that value at that path, such as `plan.name` or `scopes[0]`. */
const withWrong = (right: object, field: string, value: unknown) => ({
  ...right,
  [field.replace(/[.[].*/, "")]: value,
})

describe("a typed command", () => {
  it.effect.each(Object.entries(operations))("%s is as strict as a body", ([name, operation]) =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aWholeSender
        for (const [field, [code, ...values]] of Object.entries(operation.wrong)) {
          for (const value of values) {
            const input = withWrong(operation.right, field, value)
            const refused = yield* refusal(operation.submit(sender, input))
            const what = `${field}: ${typeof value} ${String(JSON.stringify(value, replaced))}`
            assert.deepStrictEqual([refused.code, refused.field, what], [code, field, what])
          }
        }
        // A query has no such form.
        for (const input of name.startsWith("List") ? [] : [null, [], "text", 1, true]) {
          const refused = yield* refusal(operation.submit(sender, input as unknown as object))
          assert.strictEqual(refused.code, "validation_failed")
          assert.isNull(refused.field)
        }
      }),
      { worker: false },
    ),
  )
})

/** Values that JSON cannot hold. */
const replaced = (_: string, value: unknown): unknown =>
  typeof value === "bigint" || typeof value === "symbol" ? String(value) : value
