/**
 * Values for fields and parameters by their names, so that requests reach what lies behind the validation.
 */
import type { Operation } from "@messaging-service/testkit/openapi"
import type { Chance } from "../Chance.ts"
import { reminderText } from "../world/Inventory.ts"
import type { IdKind, Ids, Inventory } from "../world/Inventory.ts"
import { links } from "./texts.ts"

/** The purpose of a value. */
export interface Position {
  readonly operation: Operation
  /** The field's name, or the parameter's. */
  readonly name: string
}

/** Mostly an existing id; sometimes another workspace's, or an unknown one. */
const someId = (chance: Chance, { ids, victim }: Inventory, kind: IdKind, own: Ids): number => {
  const from = chance.weighted([
    [5, "first"],
    [10, "any"],
    [0.5, "foreign"],
    [0.5, "none"],
  ] as const)
  const first = own[kind][0] ?? 1
  const any = chance.pick(own[kind]) ?? first
  const foreign = chance.pick((own === ids ? victim : ids)[kind]) ?? first
  // The operator may change every workspace, but the one with the keys must survive.
  if (kind === "workspace" && from === "foreign") return first
  if (from === "first") return first
  if (from === "any") return any
  return from === "foreign" ? foreign : 999_999_999
}

/** The kind of record that an id in an operation's path or body names. */
const kindOf = ({ name, operation }: Position): IdKind | undefined => {
  if (name === "id") {
    const [, , , resource = ""] = operation.path.split("/")
    return kindsOfPaths[resource]
  }
  return kindsOfFields[name]
}

const kindsOfPaths: Readonly<Record<string, IdKind>> = {
  messages: "message",
  numbers: "number",
  reminders: "reminder",
  media: "media",
  "number-checks": "check",
  webhooks: "webhook",
  workspaces: "workspace",
}

const kindsOfFields: Readonly<Record<string, IdKind>> = {
  contact_id: "contact",
  media_id: "media",
  message_id: "message",
  msg_id: "message",
  number_id: "number",
  from: "number",
  whatsapp_client: "number",
  key_id: "key",
  webhook_id: "webhook",
  reminder_id: "reminder",
  campaign_id: "check",
}

/** The sending number, mostly a connected one of WhatsApp. */
const sendingNumber = (chance: Chance, inventory: Inventory, own: Ids): number =>
  chance.weighted([
    [12, inventory.whatsapp],
    [2, inventory.telegram],
    [2, someId(chance, inventory, "number", own)],
  ])

const phone = (chance: Chance): string => `+1555010${String(chance.below(10_000)).padStart(4, "0")}`

/** ISO 8601, at that offset from the service's time when the cell was created. */
const momentIn = (inventory: Inventory, seconds: number): string =>
  new Date(inventory.now + seconds * 1000).toISOString()

const someText = (chance: Chance, _world: Inventory, { operation }: Position): string => {
  const text = chance.pick(["Hello", "*Hello* 😀", "x".repeat(3000)])
  return /reminder/i.test(operation.id) ? reminderText : text
}

const makers: Readonly<
  Record<string, (chance: Chance, inventory: Inventory, position: Position) => unknown>
> = {
  phone: (chance, _world, { operation }) =>
    operation.part === "v1" ? phone(chance).slice(2) : phone(chance),
  country_code: () => "1",
  whatsapp_number: (chance) => phone(chance).slice(1),
  group: () => "Team",
  group_name: () => "Team",
  username: (chance) => chance.pick(["@ada_lovelace", "t.me/ada_lovelace", "tg:777"]),
  text: someText,
  msg: someText,
  message: someText,
  name: (chance) => chance.pick(["Ada", "Stand-up"]),
  client_id: (_chance, { clientId }) => clientId,
  api_key: (_chance, { keys }) => keys.v1,
  send_at: (chance, inventory) => momentIn(inventory, chance.pick([3600, 86_400, 2_000_000])),
  expires_at: (_chance, inventory) => momentIn(inventory, 4_000_000),
  since: (_chance, inventory) => momentIn(inventory, -3600),
  until: (_chance, inventory) => momentIn(inventory, 3600),
  date: (_chance, inventory) =>
    momentIn(inventory, 172_800).slice(0, 10).split("-").toReversed().join("/"),
  time: (chance) => chance.pick(["09:30", "23:59"]),
  start_date: (_chance, inventory) => dayFirst(momentIn(inventory, -86_400)),
  end_date: (_chance, inventory) => dayFirst(momentIn(inventory, 86_400)),
  timezone: (chance) => chance.pick(["UTC", "Europe/Berlin", "America/New_York"]),
  cron: (chance) => chance.pick(["50 9 * * 1-5", "0 0 1 1 *", "*/15 * * * *"]),
  cron_expression: (chance) => chance.pick(["50 9 * * 1-5", "0 0 1 1 *"]),
  expire_after_seconds: (chance) => chance.pick([60, 3600]),
  msg_type: (chance) =>
    chance.weighted([
      [8, 0],
      [1, 1],
      [1, 2],
    ]),
  event_id: (chance, { events }) =>
    (chance.is(0.8) ? events[0] : events.at(-1)) ?? "evt_0123456789abcdefghijklmn",
  page: (chance) => chance.pick([1, 1, 2]),
  limit: (chance) => chance.pick([1, 2, 25, 100]),
  offset: () => 0,
  cursor: (chance, { cursors }, { operation }) => chance.pick(cursors.get(operation.id) ?? []),
  seconds: (chance) => chance.pick([0.001, 1, 20]),
  latency_ms: (chance) => chance.pick([0, 0, 5]),
  send: (chance) =>
    chance.weighted([
      [20, "succeed"],
      [8, "fail"],
      [4, "drop"],
      [1, "hang"],
    ]),
  file_name: (chance) => chance.pick(["a.png", "menu.pdf"]),
  campaign_name: () => "January",
  reminder_name: () => "Stand-up",
}

const dayFirst = (instant: string): string => instant.slice(0, 10).split("-").toReversed().join("-")

const linkNames = new Set(["url", "img_url", "file_url", "webhook", "webhook_url"])

/**
 * A value that fits the name; undefined where none is known. It may be undefined for a known name
 * too: then the parameter is best omitted.
 */
export const fieldValue = (
  chance: Chance,
  inventory: Inventory,
  position: Position,
): { readonly value: unknown } | undefined => {
  const { name, operation } = position
  const own = operation.part === "operator" ? inventory.victim : inventory.ids
  if (linkNames.has(name)) return { value: links(chance, inventory.receiver) }
  if (name === "from" || name === "whatsapp_client") {
    return { value: sendingNumber(chance, inventory, own) }
  }
  const kind = kindOf(position)
  // A workspace's records belong to the first one.
  const isOfChild = kind === "workspace" && operation.path.split("{").length > 2
  if (isOfChild && chance.is(0.95)) return { value: own.workspace[0] ?? 1 }
  if (kind !== undefined) return { value: someId(chance, inventory, kind, own) }
  const maker = Object.hasOwn(makers, name) ? makers[name] : undefined
  return maker === undefined ? undefined : { value: maker(chance, inventory, position) }
}
