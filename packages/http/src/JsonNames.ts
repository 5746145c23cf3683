/**
 * How JSON spells the names of commands and of refusals' details: the one place that knows both
 * spellings. Bodies and queries are read through it, refusals are written through it, and the API
 * document takes its names from it. Names of one word are the same on both sides.
 */
import type { Details } from "@messaging-service/core"
import type { JsonValue } from "./StrictJson.ts"

const jsonNames = {
  accountDisabled: "account_disabled",
  apiV2Enabled: "api_v2_enabled",
  contactId: "contact_id",
  defaultCountryCode: "default_country_code",
  errorMessage: "error_message",
  eventId: "event_id",
  expiresAt: "expires_at",
  expiresIn: "expires_in",
  fileName: "file_name",
  fromRow: "from_row",
  jitterMillis: "jitter_ms",
  latencyMillis: "latency_ms",
  loginMethod: "login_method",
  maxNumbers: "max_numbers",
  mediaId: "media_id",
  mediaStorageBytes: "media_storage_bytes",
  messageId: "message_id",
  messagesRemaining: "messages_remaining",
  minIntervalMillis: "min_interval_ms",
  newRecipientsPerDay: "new_recipients_per_day",
  numberId: "number_id",
  numberIds: "number_ids",
  perHour: "per_hour",
  perMinute: "per_minute",
  proxyUrl: "proxy_url",
  qrCodeApi: "qr_code_api",
  quotaReserve: "quota_reserve",
  requiredScope: "required_scope",
  retentionDays: "retention_days",
  returnUrl: "return_url",
  roomAt: "room_at",
  sendAt: "send_at",
  sentAt: "sent_at",
  toColumn: "to_column",
  workspaceId: "workspace_id",
} as const satisfies Readonly<Record<UnlikeJson<keyof Details>, string>> &
  Readonly<Record<string, string>>

type JsonNames = typeof jsonNames

/** Of names, those that JSON spells in another way. */
type UnlikeJson<Name> = Exclude<Name, Lowercase<string>>

type Plain = string | number | boolean | Date | null | undefined

/** A value of the core with JSON's names. */
export type InJson<A> = A extends Plain
  ? A
  : A extends ReadonlyArray<infer Item>
    ? ReadonlyArray<InJson<Item>>
    : {
        [Name in keyof A as Name extends keyof JsonNames ? JsonNames[Name] : Name]: InJson<A[Name]>
      }

/** The names in a value of the core that the table lacks. */
export type Unnamed<A> = A extends Plain
  ? never
  : A extends ReadonlyArray<infer Item>
    ? Unnamed<Item>
    : {
        [Name in keyof A]-?: Unnamed<A[Name]> | Exclude<UnlikeJson<Name>, keyof JsonNames>
      }[keyof A]

/** JSON's spelling of the core's name. */
export const jsonName = (name: string): string =>
  Object.hasOwn(jsonNames, name) ? jsonNames[name as keyof JsonNames] : name

/**
 * Each spelling to the other. So what is read is written back as it was, also a name that JSON does not
 * know in the core's spelling: it becomes one that the core does not know.
 */
const others: ReadonlyMap<string, string> = new Map(
  Object.entries(jsonNames).flatMap(([own, json]) => [
    [own, json],
    [json, own],
  ]),
)

const otherName = (name: string): string => others.get(name) ?? name

/** The field whose members have names of the caller's own, which stay as they are. */
const freely = "values"

/** JSON with the core's names, as a command. */
export const readNames = (value: JsonValue): JsonValue => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(readNames)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) =>
      name === freely ? [name, member] : [otherName(name), readNames(member)],
    ),
  )
}

/** The path of a field of what was read, such as `to[3].contact_id`, as it was sent. */
export const writtenField = (field: string): string => {
  const [own = "", ...free] = field.split(new RegExp(`(?<=(?:^|\\.)${freely})\\.`))
  return [own.replaceAll(/[^.[\]]+/g, otherName), ...free].join(".")
}
