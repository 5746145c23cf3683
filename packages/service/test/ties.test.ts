/** Compares the facade's types with the core's: a field that only one of them has does not compile. */
import type * as Core from "@messaging-service/core"
import type * as Ports from "@messaging-service/core"
import type { Brand } from "effect"
import type pg from "pg"
import { assert, it } from "vitest"
import type * as Door from "../src/index.ts"

/** Both types are equal; else the names of the differences. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : ["missing", A, B]) : ["other", A, B]

/** Ids are plain numbers. */
type Plain<A> =
  A extends Brand.Brand<infer _>
    ? Brand.Brand.Unbranded<A>
    : A extends string | number | boolean | Date | null | undefined
      ? A
      : A extends ReadonlyArray<infer Item>
        ? ReadonlyArray<Plain<Item>>
        : { [Name in keyof A]: Plain<A[Name]> }

/** Names of all fields, nested ones included; both sides must agree on which are optional. */
type Shape<A> = A extends string | number | boolean | Date | null | undefined
  ? A
  : A extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Shape<Item>>
    : {
        [Name in keyof A]-?: [
          Shape<A[Name]>,
          Record<never, never> extends Pick<A, Name> ? "?" : "!",
        ]
      }

type Command<A, B> = Same<Shape<A>, Shape<B>>

/** A record's times are dates, and its ids plain numbers. */
type Dated<A> = {
  readonly [Name in keyof A]: Name extends `${string}At` | "pausedUntil" | "since"
    ? A[Name] extends number | string
      ? Date
      : Date | null
    : A[Name]
}

type RecordOf<A, B, Hidden = never> = Same<Dated<Omit<Plain<A>, Hidden & string>>, B>

const commands: {
  readonly sendMessage: Command<Core.ReferencedSend, Door.SendMessage>
  readonly sendBatch: Command<Core.ReferencedBatch, Door.SendBatch>
  readonly listMessages: Command<Core.ReferencedList, Door.ListMessages>
  readonly createReminder: Command<Core.CreateReminder, Door.CreateReminder>
  readonly changeReminder: Command<Core.ChangeReminder, Door.ChangeReminder>
  readonly listReminders: Command<Core.ListReminders, Door.ListReminders>
  readonly connectNumber: Command<Core.ConnectNumber, Door.ConnectNumber>
  readonly checkNumbers: Command<Core.CheckNumbers, Door.CheckNumbers>
  readonly listCheckResults: Command<Core.ListCheckResults, Door.ListCheckResults>
  readonly listMedia: Command<Core.ListMedia, Door.ListMedia>
  readonly createWebhook: Command<Core.CreateWebhook, Door.CreateWebhook>
  readonly createWorkspace: Command<Core.CreateWorkspace, Door.CreateWorkspace>
  readonly ensureWorkspace: Command<Omit<Core.EnsureWorkspace, "name">, Door.EnsureWorkspace>
  readonly changeWorkspace: Command<Core.ChangeWorkspace, Door.ChangeWorkspace>
  readonly createKey: Command<Core.CreateKey, Door.CreateKey>
  readonly createContact: Command<Core.CreateContact, Door.CreateContact>
  readonly createNumber: Command<Core.CreateNumber, Door.CreateNumber>
  readonly changeNumber: Command<Core.ChangeNumber, Door.ChangeNumber>
  readonly telegramLogin: Command<Core.BeginTelegramLogin, Door.BeginTelegramLogin>
  readonly redeliver: Command<Core.RedeliverEvent, Door.RedeliverEvent>
  readonly page: Command<Core.ListPage, Door.PageOptions>
  readonly restored: Command<Core.StoreRestored, Door.StoreRestored>
  readonly held: Same<keyof Core.SelectHeld, keyof Door.SelectHeld>
} = {
  sendMessage: true,
  sendBatch: true,
  listMessages: true,
  createReminder: true,
  changeReminder: true,
  listReminders: true,
  connectNumber: true,
  checkNumbers: true,
  listCheckResults: true,
  listMedia: true,
  createWebhook: true,
  createWorkspace: true,
  ensureWorkspace: true,
  changeWorkspace: true,
  createKey: true,
  createContact: true,
  createNumber: true,
  changeNumber: true,
  telegramLogin: true,
  redeliver: true,
  page: true,
  restored: true,
  held: true,
}

const records: {
  readonly message: RecordOf<
    Core.ReportedMessage & Pick<Core.OutboxEvent, "reference">,
    Omit<Door.Message, "workspaceId" | "mode">
  >
  readonly workspace: RecordOf<Ports.Workspace, Door.Workspace, "deletedAt">
  readonly key: RecordOf<Ports.ApiKey, Door.Key>
  readonly contact: RecordOf<Ports.Contact, Door.Contact>
  readonly number: RecordOf<
    Ports.SendingNumber,
    Door.SendingNumber,
    "workspaceId" | "mode" | "createdAt"
  >
  readonly pacing: Same<Ports.Pacing, Door.Pacing>
  readonly connection: RecordOf<Core.NumberConnection, Door.NumberConnection>
  readonly check: RecordOf<Ports.NumberCheck, Door.NumberCheck>
  readonly checkResult: RecordOf<Ports.NumberCheckResult, Door.NumberCheckResult>
  readonly media: RecordOf<Ports.MediaFile & { readonly url: string }, Door.MediaFile, "storageKey">
  readonly delivery: RecordOf<Ports.DeliveryAttempt, Door.Delivery>
  readonly callback: RecordOf<Ports.CallbackAttempt, Door.CallbackDelivery>
  readonly webhook: RecordOf<
    Omit<Ports.WebhookEndpoint, "lastAttempt">,
    Omit<Door.Webhook, "active" | "lastAttempt">,
    "secretSalt" | "firstSecretLast4"
  >
  readonly reminder: RecordOf<
    Omit<Ports.Reminder, "to" | "media" | "lastRun" | "timezone">,
    Omit<Door.Reminder, "to" | "media" | "lastRun" | "schedule">,
    "cron" | "revision"
  >
  readonly telegramLogin: Same<
    Omit<Core.TelegramLoginView, "qr" | "expiresAt">,
    Omit<Door.TelegramLogin, "qrUrl" | "qrExpiresAt" | "expiresAt">
  >
  readonly heldCount: RecordOf<Ports.HeldCount, Door.HeldCount>
  readonly decidedHeld: RecordOf<Core.DecidedHeld, Door.DecidedHeld>
  readonly run: Same<keyof Ports.LoggedRun, keyof Door.LoggedReminderRun>
} = {
  message: true,
  workspace: true,
  key: true,
  contact: true,
  number: true,
  pacing: true,
  connection: true,
  check: true,
  checkResult: true,
  media: true,
  delivery: true,
  callback: true,
  webhook: true,
  reminder: true,
  telegramLogin: true,
  heldCount: true,
  decidedHeld: true,
  run: true,
}

const words: {
  readonly code: Same<Core.Code | "closed" | "cannot_start", Door.ErrorCode>
  readonly scope: Same<Core.Scope, Door.Scope>
  readonly role: Same<Core.Role, Door.Role>
  readonly status: Same<Ports.MessageStatus, Door.MessageStatus>
  readonly event: Same<Ports.MessageEventType, Door.MessageEventType>
  readonly plan: Same<Ports.Plan, Door.Plan>
  readonly transaction: Same<Ports.TransactionClient, Door.Transaction>
  readonly pool: pg.Pool extends Door.PostgresPool ? true : false
  readonly client: pg.PoolClient extends Door.Transaction ? true : false
} = {
  code: true,
  scope: true,
  role: true,
  status: true,
  event: true,
  plan: true,
  transaction: true,
  pool: true,
  client: true,
}

it("commands, records and words of the facade are the core's", () => {
  const all = [commands, records, words].flatMap((ties) => Object.values(ties))
  assert.isTrue(all.every((tie) => tie))
  assert.lengthOf(all, 50)
})
