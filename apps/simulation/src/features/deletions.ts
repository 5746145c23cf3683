/** Deletions during use: a number, a workspace, reminders and contacts. */
import { Contacts, Numbers, Reminders, Workspaces } from "@messaging-service/core"
import type { ReminderId } from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { Control } from "../History.ts"
import type { Command, Feature, Planning, Stage } from "./Feature.ts"
import { toPhone, send } from "./messages.ts"
import type { Send } from "./messages.ts"
import { control } from "./operations.ts"

const second = 1000
const minute = 60 * second

/** How often a caller repeats a request. */
const tries = 8

const ended = (key: string, numbers: ReadonlyArray<number> = []): Control => ({
  _tag: "Control",
  key,
  numbers,
  value: { _tag: "Stopped", until: null },
  isProbe: false,
})

export const removeNumber = (number: number) => (stage: Stage) => {
  const { numbers, workspace } = stage.tenant
  const id = numbers[number]
  if (id === undefined) return Effect.void
  return control(
    stage,
    ended(`removal ${id}`, [id]),
    Numbers.use((service) => service.remove("owner", workspace, id)),
    "number_not_found",
  )
}

const deleteWorkspace = (stage: Stage) => {
  const { numbers, workspace } = stage.doomed
  return control(
    stage,
    ended("deletion", numbers),
    Workspaces.use((service) => service.delete("owner", workspace)),
    "workspace_not_found",
  )
}

const removeReminder = (stage: Stage) => {
  const { live } = stage.tenant.callers
  const created = stage.reminders[stage.chance.below(Math.max(1, stage.reminders.length))]
  if (created === undefined) return Effect.void
  return control(
    stage,
    ended(`reminder ${created.text}`),
    Reminders.use((service) => service.remove(live, created.id as ReminderId)),
    "reminder_not_found",
  )
}

/** Repeats until there is an answer; undefined for a refusal, and where no answer ever came. */
const create = Effect.fnUntraced(function* <A, E>(stage: Stage, requesting: Effect.Effect<A, E>) {
  for (let attempt = 0; attempt < tries; attempt++) {
    const result = yield* Effect.result(requesting)
    if (Result.isSuccess(result)) return result.success
    yield* Effect.sleep(stage.chance.below(3 * second))
  }
  return undefined
})

const contactPhone = toPhone(8)

const makeContact = (name: string) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const { workspace } = stage.tenant
    const contact = yield* create(
      stage,
      stage.callProcess(
        Contacts.use((service) =>
          service.create("owner", workspace, { name, phone: contactPhone }),
        ),
      ),
    )
    if (contact !== undefined) stage.contacts.set(name, contact.id)
  })

const deleteContact = (name: string) => (stage: Stage) => {
  const id = stage.contacts.get(name)
  if (id === undefined) return Effect.void
  return control(
    stage,
    ended(`contact ${name}`),
    Contacts.use((service) => service.delete("owner", stage.tenant.workspace, id)),
    "contact_not_found",
  )
}

const planMessage = (
  { chance, start }: Planning,
  at: number,
  text: string,
  more: Partial<Send>,
): Send => ({
  _tag: "Send",
  text,
  phones: [toPhone(chance.below(3))],
  number: 0,
  sendAt: chance.below(2) === 0 ? start + at + 1 + chance.below(minute) : null,
  expiresAt: null,
  idempotencyKey: text,
  mode: "live",
  isProbe: false,
  ...more,
})

/** Moments around another one. */
const about = ({ chance, span }: Planning, at: number, millis: number): number =>
  Math.min(span, Math.max(0, at - millis + chance.below(2 * millis)))

const planNumber = (planning: Planning): ReadonlyArray<Command> => {
  const { chance, instant, numbers } = planning
  const number = chance.below(numbers)
  // Often at a full minute, when reminders run.
  const minutes = Math.floor(instant() / minute) * minute
  const at = chance.below(2) === 0 ? instant() : minutes + chance.below(300)
  return [{ at, name: `remove ${number}`, perform: removeNumber(number) }]
}

const planWorkspace = (planning: Planning): ReadonlyArray<Command> => {
  const { chance, instant } = planning
  const deletedAt = instant()
  const sends = Array.from({ length: 2 + chance.below(6) }, (_, index): Command => {
    const at = about(planning, deletedAt, 20 * second)
    const requested = planMessage(planning, at, `d${index}`, { fate: "deleted" })
    return {
      at,
      name: `send ${requested.text}`,
      perform: (stage) => send(requested, false)({ ...stage, tenant: stage.doomed }),
    }
  })
  return [...sends, { at: deletedAt, name: "delete workspace", perform: deleteWorkspace }]
}

const planReminder = ({ instant }: Planning): ReadonlyArray<Command> => [
  { at: instant(), name: "delete reminder", perform: removeReminder },
]

const planContact = (planning: Planning): ReadonlyArray<Command> => {
  const { chance, instant, numbers } = planning
  const name = "contact"
  const deletedAt = instant() + 10 * second
  const sends = Array.from({ length: 3 }, (_, index): Command => {
    const at = about(planning, deletedAt, 10 * second)
    const requested = planMessage(planning, at, `contact${index}`, {
      contact: name,
      number: chance.below(numbers),
      phones: chance.below(2) === 0 ? [contactPhone] : [contactPhone, toPhone(1)],
    })
    return {
      at,
      name: `send ${requested.text}`,
      perform: (stage) => (stage.contacts.has(name) ? send(requested, false)(stage) : Effect.void),
    }
  })
  return [
    { at: Math.max(0, deletedAt - minute), name: `make ${name}`, perform: makeContact(name) },
    ...sends,
    { at: deletedAt, name: `delete ${name}`, perform: deleteContact(name) },
  ]
}

/** Each in one of three seeds. */
const plans = [planNumber, planWorkspace, planReminder, planContact]

export const deletions: Feature = {
  name: "deletions",
  plan: (planning) =>
    plans.flatMap((plan) => (planning.chance.below(3) === 0 ? plan(planning) : [])),
}
