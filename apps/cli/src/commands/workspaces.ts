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
import { toFields, operatorLists, operatorDetail } from "./rows.ts"

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
  "chats:read",
  "chats:write",
] as const

const one = { id: once(id("workspace")) }

const onOff = (about: string) => maybe(choice(["on", "off"], about))

/** A plan in the operator API's format: JSON, or `none`. */
const parsePlan = (value: string | undefined): PlanInput | null | undefined => {
  if (value === undefined) return undefined
  if (value === "none") return null
  try {
    const plan: unknown = JSON.parse(value)
    if (typeof plan === "object" && plan !== null && !Array.isArray(plan)) return plan as PlanInput
  } catch {
    // Below.
  }
  throw usageError("--plan is the JSON of a plan, or none")
}

/** Days in digits, or `none`. */
const parseDays = (value: string | undefined): number | null | undefined => {
  if (value === undefined) return undefined
  if (value === "none") return null
  if (/^\d{1,4}$/.test(value) && Number(value) >= 1 && Number(value) <= 3650) return Number(value)
  throw usageError("--retention is a number of days from 1 to 3650, or none")
}

const isGiven = (value: unknown): boolean => value !== undefined

const plan = maybe(text("JSON", "Its plan in the operator API's JSON, or none."))

export const workspaceCommands = [
  command({
    name: "workspaces create",
    as: "operator",
    summary: "Creates a workspace.",
    arguments: { name: once(someName("1 to 100 characters.")) },
    options: { plan },
    run: async ({ name, plan: value }, { operator, output }) => {
      const requested = { name, ...toFields({ plan: parsePlan(value) }) }
      output.one(await operator().workspaces.create(requested), columns)
    },
  }),
  command({
    name: "workspaces list",
    as: "operator",
    summary: "Lists workspaces, newest first.",
    options: limit,
    run: (input, { operator, output }) =>
      listed(input, output, columns, (page) => operator().workspaces.list(page)),
  }),
  command({
    name: "workspaces get",
    as: "operator",
    summary: "Shows a workspace.",
    arguments: one,
    run: async (input, { operator, output }) =>
      output.one(await operator().workspaces.get(input.id)),
  }),
  command({
    name: "workspaces update",
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
    run: async ({ disabled, id: of, name, plan: value, retention }, { operator, output }) => {
      const requested = {
        ...(disabled === undefined ? {} : { account_disabled: disabled === "on" }),
        ...toFields({ name, plan: parsePlan(value), retention_days: parseDays(retention) }),
      }
      if (Object.keys(requested).length === 0)
        throw usageError("give what to change, such as --name")
      output.one(await operator().workspaces.update(of, requested), columns)
    },
  }),
  command({
    name: "workspaces delete",
    as: "operator",
    summary: "Deletes a workspace, stops its keys and cancels its waiting messages.",
    arguments: one,
    options: { yes: flag("Confirms the command. Required.") },
    run: async (input, { operator, output }) => {
      if (!input.yes) throw usageError("deleting a workspace needs --yes")
      output.one(await operator().workspaces.delete(input.id))
    },
  }),

  command({
    name: "keys create",
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
    run: async ({ expires, mode, name, number, scope, workspace: inside, ...args }, tools) => {
      const isVersion1 = args["version-1"]
      if (isVersion1 && [name, mode, expires, ...scope, ...number].some(isGiven)) {
        throw usageError("a key of version 1 has no other options than its workspace")
      }
      if (!isVersion1 && name === undefined) throw usageError("a key of version 2 needs --name")
      const requested: CreateKey = isVersion1
        ? { version: 1 }
        : {
            version: 2,
            name: name ?? "",
            ...toFields({ mode, scopes: scope, number_ids: number, expires_in: expires }),
          }
      tools.output.one(await tools.operator().keys.create(inside, requested))
    },
  }),
  command({
    name: "keys list",
    as: "operator",
    summary: "Lists the keys of a workspace, revoked ones included.",
    options: { workspace },
    run: async (input, { operator, output }) =>
      output.all(await operator().keys.list(input.workspace), keyColumns),
  }),
  operatorDetail(
    "keys revoke",
    "key",
    "keys.revoke",
    "Revokes a key at once, and stops the webhook endpoints that it created.",
  ),

  command({
    name: "contacts add",
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
  operatorDetail("contacts delete", "contact", "contacts.delete", "Deletes a contact."),
]
