/** Sends for tests of the acceptance decision: a store's facts, requests and decisions. */
import { Result } from "effect"
import type { Contact, Phone } from "../../src/model/Recipient.ts"
import type { Code, Refusal } from "../../src/model/Refusal.ts"
import { fromIndexes } from "../../src/model/Ids.ts"
import type { ContactId, MediaId, NumberId, WorkspaceId } from "../../src/model/Ids.ts"
import type { Sender } from "../../src/model/Auth.ts"
import type { MediaFile } from "../../src/model/Media.ts"
import type { AnsweredChat, QuotedMessage } from "../../src/model/Answer.ts"
import { decideAcceptance } from "../../src/model/accept.ts"
import type { AcceptContext } from "../../src/model/accept.ts"
import type { Acceptance, AcceptanceFacts } from "../../src/model/accept.ts"
import { dailyQuota } from "../../src/model/Message.ts"
import type { QuotaFacts } from "../../src/model/Message.ts"
import { sendRequestParser } from "../../src/model/SendRequest.ts"
import type { SendRequest } from "../../src/model/SendRequest.ts"
import type { NumberStatus, Platform, SendingNumber } from "../../src/model/SendingNumber.ts"
import { formatInstant } from "../../src/model/Time.ts"
import { unlimitedPlan } from "../../src/model/Workspace.ts"
import type { Plan } from "../../src/model/Workspace.ts"

export const now = Date.UTC(2026, 2, 2, 12, 0, 0, 250)
export const second = 1000
export const day = 24 * 60 * 60 * second
export const workspaceId = 1 as WorkspaceId

export const aNumber = (
  id: number,
  platform: Platform = "whatsapp",
  status: NumberStatus = "connected",
): SendingNumber => ({
  id: id as NumberId,
  workspaceId,
  phone: `1555000${id}`,
  label: "",
  platform,
  status,
  loginMethod: "qr",
  mode: "live",
  createdAt: now - day,
})

const aContact = (id: number, overrides: Partial<Contact>): Contact => ({
  id: id as ContactId,
  workspaceId,
  name: "Jane",
  phone: null,
  username: null,
  createdAt: now - day,
  ...overrides,
})

export const withPhone = aContact(61, { phone: "+15550000061" as Phone })
const withUsername = aContact(62, { username: "@jane_doe" })

export const anImage: MediaFile = {
  id: 71 as MediaId,
  workspaceId,
  mode: "live",
  fileName: "photo.png",
  type: "image",
  mimeType: "image/png",
  size: 1024,
  storageKey: "photo",
  createdAt: now - day,
}

export const aSender = (overrides: Partial<Sender> = {}): Sender => ({
  workspaceId,
  mode: "live",
  numberIds: null,
  ...overrides,
})

export const limitedTo = (...ids: ReadonlyArray<number>) =>
  aSender({ numberIds: ids as Array<NumberId> })

export const emptyQuota: QuotaFacts = { bound: 0, fullUntil: null, exact: null }

export interface Circumstances {
  readonly numbers?: ReadonlyArray<SendingNumber>
  readonly contacts?: ReadonlyArray<Contact>
  readonly chats?: ReadonlyArray<AnsweredChat>
  readonly quoted?: QuotedMessage | null
  readonly media?: MediaFile | null
  readonly plan?: Plan | null
  readonly quota?: QuotaFacts
}

/** The store's facts for a request in this situation. */
export const factsFor = (request: SendRequest, circumstances: Circumstances): AcceptanceFacts => {
  const quota = circumstances.quota ?? emptyQuota
  const all = (circumstances.numbers ?? [aNumber(1)]).map((number) => ({ number, quota }))
  const connected = (platform: Platform) =>
    all
      .filter(({ number }) => number.platform === platform && number.status === "connected")
      .slice(0, 2)
  const contacts = circumstances.contacts ?? [withPhone, withUsername]
  const chats = new Map((circumstances.chats ?? []).map((chat) => [chat.id, chat]))
  const [ofChat] = request.recipients.flatMap((to) =>
    to.kind === "chat" ? (chats.get(to.chatId) ?? []) : [],
  )
  const named = request.from ?? ofChat?.numberId ?? null
  return {
    claim: null,
    plan: circumstances.plan === undefined ? unlimitedPlan : circumstances.plan,
    named: all.find(({ number }) => number.id === named) ?? null,
    connected: named === null ? [...connected("whatsapp"), ...connected("telegram")] : [],
    contactIdByPhone: new Map(
      contacts.flatMap(({ id, phone }) => (phone === null ? [] : [[phone, id] as const])),
    ),
    contacts: new Map(contacts.map((contact) => [contact.id, contact])),
    chats,
    quoted: circumstances.quoted ?? null,
    media: circumstances.media ?? null,
  }
}

const parser = sendRequestParser({ allowPrivate: false }, false, true)

/** A request from its JSON; a batch when `to` is a list. */
export const aRequest = (overrides: Readonly<Record<string, unknown>>): SendRequest => {
  const body: Readonly<Record<string, unknown>> = { text: "Hello", ...overrides }
  return Result.getOrThrow(Array.isArray(body["to"]) ? parser.batch(body) : parser.single(body))
}

/** Sequential ids. */
export const countingIds = () => {
  let drawn = 0
  return fromIndexes((bound) => drawn++ % bound)
}

export const decide = (
  request: SendRequest,
  circumstances: Circumstances = {},
  context: Partial<AcceptContext> = {},
): Result.Result<Acceptance, Refusal> =>
  decideAcceptance(request, factsFor(request, circumstances), {
    sender: aSender(),
    now,
    ids: countingIds(),
    idempotency: null,
    linkAllowed: true,
    dailyLimit: dailyQuota,
    ...context,
  })

export type Verdict = readonly [code: Code, field: string | null] | "accepted"

export const verdict = (result: Result.Result<unknown, Refusal>): Verdict =>
  Result.match(result, {
    onFailure: ({ code, field }) => [code, field],
    onSuccess: () => "accepted",
  })

export const getRefusal = (result: Result.Result<unknown, Refusal>): Refusal =>
  Result.getOrThrow(Result.flip(result))

/** ISO 8601, to the millisecond. */
export const iso = (millis: number, digits = "") =>
  formatInstant(millis).replace("Z", `.${String(millis % 1000).padStart(3, "0")}${digits}Z`)

export const to = {
  phone: { phone: "+15550000001" },
  group: { group: "Team" },
  username: { username: "@jane_doe" },
  contactWithPhone: { contactId: withPhone.id },
  contactWithUsername: { contactId: withUsername.id },
}
