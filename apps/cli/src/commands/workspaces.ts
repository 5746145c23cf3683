/** Workspaces, with their keys and contacts, for operators. */
import type { CreateKey, PlanInput, Workspace } from "@messaging-service/client"
import {
  any,
  choice,
  command,
  count,
  flag,
  id,
  maybe,
  once,
  phoneValue,
  someName,
  text,
  workspace,
} from "../Command.ts"
import { usageError } from "../ending.ts"
import { limit, listed } from "./lists.ts"
import { fieldsOf, operatorLists, operatorShows } from "./rows.ts"

const columns = [
  "id",
  "name",
  ["client id", "client_id"],
  ["plan", ({ plan }: Workspace) => plan?.name],
  [
    "messages left",
    ({ plan }: Workspace) => (plan === null ? 0 : (plan.messages_remaining ?? "unlimited")),
  ],
  ["created", "created_at"],
] as const

const keyColumns = [
  "id",
  "name",
  "version",
  "mode",
  ["ends with", "last4"],
  "scopes",
  ["last used", "last_used_at"],
  ["revoked", "revoked_at"],
] as const

const contactColumns = ["id", "name", "phone", "username"] as const

const scopes = [
  "messages:send",
  "messages:read",
  "reminders",
  "numbers",
  "media",
  "contacts",
] as const

const one = { id: once(id("workspace")) }

const onOff = (about: string) => maybe(choice(["on", "off"], about))

/** A plan in the operator API's format: JSON, or `none`. */
const planOf = (given: string | undefined): PlanInput | null | undefined => {
  if (given === undefined) return undefined
  if (given === "none") return null
  try {
    const plan: unknown = JSON.parse(given)
    if (typeof plan === "object" && plan !== null && !Array.isArray(plan)) return plan as PlanInput
  } catch {
    // Below.
  }
  throw usageError("--plan is the JSON of a plan, or none")
}

/** Days in digits, or `none`. */
const daysOf = (given: string | undefined): number | null | undefined => {
  if (given === undefined) return undefined
  if (given === "none") return null
  if (/^\d{1,4}$/.test(given) && Number(given) >= 1 && Number(given) <= 3650) return Number(given)
  throw usageError("--retention is a number of days from 1 to 3650, or none")
}

const isGiven = (value: unknown): boolean => value !== undefined

const plan = maybe(text("JSON", "Its plan in the operator API's JSON, or none."))

export const workspaceCommands = [
  command({
    words: "workspaces create",
    as: "operator",
    summary: "Makes a workspace.",
    arguments: { name: once(someName("1 to 100 characters.")) },
    options: { plan },
    run: async ({ name, plan: given }, { operator, output }) => {
      const wanted = { name, ...fieldsOf({ plan: planOf(given) }) }
      output.one(await operator().workspaces.create(wanted), columns)
    },
  }),
  command({
    words: "workspaces list",
    as: "operator",
    summary: "Lists workspaces, newest first.",
    options: limit,
    run: (given, { operator, output }) =>
      listed(given, output, columns, (page) => operator().workspaces.list(page)),
  }),
  command({
    words: "workspaces get",
    as: "operator",
    summary: "Shows a workspace.",
    arguments: one,
    run: async (given, { operator, output }) =>
      output.one(await operator().workspaces.get(given.id)),
  }),
  command({
    words: "workspaces update",
    as: "operator",
    summary: "Changes a workspace.",
    arguments: one,
    options: {
      name: maybe(someName("1 to 100 characters.")),
      disabled: onOff("Disables it: all its keys are refused."),
      plan,
      retention: maybe(
        text("DAYS", "Erases messages that many days after their end: 1 to 3650, or none."),
      ),
    },
    run: async ({ disabled, id: of, name, plan: given, retention }, { operator, output }) => {
      const wanted = {
        ...(disabled === undefined ? {} : { account_disabled: disabled === "on" }),
        ...fieldsOf({ name, plan: planOf(given), retention_days: daysOf(retention) }),
      }
      if (Object.keys(wanted).length === 0) throw usageError("give what to change, such as --name")
      output.one(await operator().workspaces.update(of, wanted), columns)
    },
  }),
  command({
    words: "workspaces delete",
    as: "operator",
    summary: "Deletes a workspace, stops its keys and cancels its waiting messages.",
    arguments: one,
    options: { yes: flag("It is meant. Required.") },
    run: async (given, { operator, output }) => {
      if (!given.yes) throw usageError("deleting a workspace needs --yes")
      output.one(await operator().workspaces.delete(given.id))
    },
  }),

  command({
    words: "keys create",
    as: "operator",
    summary: "Creates a key, and shows it once.",
    options: {
      workspace,
      name: maybe(someName("Up to 50 characters; required except for version 1.")),
      mode: maybe(choice(["live", "test"], "A test key sends nothing. Default: live.")),
      scope: any(choice(scopes, "Its permissions. Default: all.")),
      number: any(count("ID", "A number that it may use. Default: all.")),
      expires: maybe(choice(["30d", "90d", "1y"], "When it expires. Default: never.")),
      "version-1": flag("A key of version 1."),
    },
    run: async ({ expires, mode, name, number, scope, workspace: inside, ...given }, tools) => {
      const isVersion1 = given["version-1"]
      if (isVersion1 && [name, mode, expires, ...scope, ...number].some(isGiven)) {
        throw usageError("a key of version 1 has no other options than its workspace")
      }
      if (!isVersion1 && name === undefined) throw usageError("a key of version 2 needs --name")
      const wanted: CreateKey = isVersion1
        ? { version: 1 }
        : {
            version: 2,
            name: name ?? "",
            ...fieldsOf({ mode, scopes: scope, number_ids: number, expires_in: expires }),
          }
      tools.output.one(await tools.operator().keys.create(inside, wanted))
    },
  }),
  command({
    words: "keys list",
    as: "operator",
    summary: "Lists the keys of a workspace, revoked ones included.",
    options: { workspace },
    run: async (given, { operator, output }) =>
      output.all(await operator().keys.list(given.workspace), keyColumns),
  }),
  operatorShows(
    "keys revoke",
    "key",
    "keys.revoke",
    "Revokes a key at once, and stops the webhook endpoints that it created.",
  ),

  command({
    words: "contacts add",
    as: "operator",
    summary: "Saves a contact.",
    arguments: { name: once(someName("1 to 100 characters.")) },
    options: {
      workspace,
      phone: maybe(phoneValue("E.164 with +.")),
      username: maybe(text("USERNAME", "Of Telegram.")),
    },
    run: async ({ name, phone, username, workspace: inside }, { operator, output }) => {
      if ((phone === undefined) === (username === undefined)) {
        throw usageError("a contact has either --phone or --username")
      }
      const contact = phone === undefined ? { name, username: username ?? "" } : { name, phone }
      output.one(await operator().contacts.create(inside, contact), contactColumns)
    },
  }),
  operatorLists(
    "contacts list",
    "contacts.list",
    "Lists the contacts of a workspace, newest first.",
    contactColumns,
  ),
  operatorShows("contacts delete", "contact", "contacts.delete", "Deletes a contact."),
]
