/**
 * Campaigns: drafts and their rows, from calls and files, some of them broken; started, changed, paused,
 * resumed, stopped and removed. In calm each continues, as far as its numbers have room.
 */
import { Campaigns } from "@messaging-service/core"
import type { CampaignId } from "@messaging-service/core"
import { Chance } from "@messaging-service/emulator"
import { Effect, Fiber, Result, Stream } from "effect"
import { oneOf } from "../calls.ts"
import { cutStop } from "../History.ts"
import type { AddCampaignRows, Answer, Control, MakeCampaign, RequestedRow } from "../History.ts"
import { retryUntilAnswered } from "./asking.ts"
import type { Asking } from "./asking.ts"
import type { Command, Feature, Planning, Stage } from "./Feature.ts"
import { roomyNumber, toPhone } from "./messages.ts"

const second = 1000
const minute = 60 * second

/** One of so many seeds has campaigns, and one of so many of these lasts until numbers have room again. */
const campaignShare = 3
const daylongShare = 3

/** What a seed with campaigns has besides; null for one without. */
export const drawCampaigns = (
  seed: string,
): { readonly allowance: number; readonly isDaylong: boolean } | null => {
  const chance = new Chance(`${seed}/campaigns`)
  if (chance.below(campaignShare) !== 0) return null
  return { allowance: oneOf(chance, [0, 30, 60]), isDaylong: chance.below(daylongShare) === 0 }
}

/** How often a caller repeats a request without an answer, and at most with one. */
const tries = 8
const repeats = 2

/** An interrupted upload blocks others for two minutes. */
const uploadTries = 5

/** Phones that no other caller writes to. */
const firstPhone = 20

const iso = (instant: number | null): string | null =>
  instant === null ? null : new Date(instant).toISOString()

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const owner = "owner"

/** Asks, and sometimes repeats what was answered. */
const sendUntilAnswered = Effect.fnUntraced(function* <A>(stage: Stage, asking: Asking<A>) {
  const times = stage.chance.below(3) === 0 ? repeats : 1
  let heard: Answer | null = null
  for (let time = 0; time < times; time++) {
    heard = yield* retryUntilAnswered(stage, { ...asking, tries })
  }
  return heard
})

const create = (stage: Stage, request: MakeCampaign) => {
  const { campaign, mode, numbers } = request
  const { numbers: ids, workspace } = stage.tenant
  const command = {
    name: campaign,
    text: `${campaign} {n}`,
    from: numbers?.map((index) => Number(ids[index])) ?? null,
    quotaReserve: request.reserve,
    duplicates: request.dropsDuplicates ? "drop" : "keep",
    sendAt: iso(request.sendAt),
    timezone: "UTC",
  }
  const key = { key: `create ${campaign}`, fingerprint: campaign }
  return sendUntilAnswered(stage, {
    request,
    effect: Campaigns.use((service) => service.create(owner, workspace, mode, command, key)),
    answer: ({ answer: { id }, replayed }) => ({
      _tag: "Made",
      id: Number(id),
      secret: null,
      isReplayed: replayed,
    }),
  })
}

const toValues = ({ code, label }: RequestedRow): Readonly<Record<string, string>> =>
  code === "placeholder_empty" ? {} : { n: label }

const rowInput = (row: RequestedRow) => ({
  to: { phone: row.phone },
  values: toValues(row),
  sendAt: iso(row.sendAt),
  expiresAt: iso(row.expiresAt),
})

const line = (row: RequestedRow): string =>
  [row.phone, toValues(row)["n"] ?? "", iso(row.sendAt) ?? "", iso(row.expiresAt) ?? ""].join()

/** A file with lines that come one by one. */
const toFile = (rows: ReadonlyArray<RequestedRow>, wait: number) => ({
  toColumn: null,
  content: Stream.fromIterable(["to,n,send_at,expires_at", ...rows.map(line)]).pipe(
    Stream.tap(() => Effect.sleep(wait)),
    Stream.map((one) => encode(`${one}\n`)),
  ),
})

const addRows = Effect.fnUntraced(function* (
  stage: Stage,
  id: CampaignId,
  mode: "live" | "test",
  request: AddCampaignRows,
) {
  const { campaign, isFile, rows } = request
  const { workspace } = stage.tenant
  const key = { key: `rows ${campaign} ${rows[0]?.label}`, fingerprint: campaign }
  const wait = stage.chance.below(2) === 0 ? 0 : stage.chance.below(second)
  for (let attempt = 0; attempt < uploadTries; attempt++) {
    const heard = yield* sendUntilAnswered(stage, {
      request,
      effect: Campaigns.use((service) =>
        isFile
          ? service.uploadRows(owner, workspace, mode, id, toFile(rows, wait), key)
          : service.addRows(owner, workspace, mode, id, { rows: rows.map(rowInput) }, key),
      ),
      answer: ({ answer: { firstRow, lastRow } }) => ({ _tag: "Added", firstRow, lastRow }),
    })
    if (heard?._tag !== "Refused" || heard.code !== "upload_in_progress") return
    yield* Effect.sleep(stage.chance.below(minute))
  }
})

type Action = "start" | "pause" | "resume" | "stop" | "remove"

const stopped: Control["value"] = { _tag: "Stopped", until: null }

/** What an operator does with a campaign that may be known. */
const act = (name: string, action: Action, firstRow?: number) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const known = stage.campaigns.get(name)
    if (known === undefined) return
    const { id, mode } = known
    const { workspace } = stage.tenant
    const isOpening = action === "start" || action === "resume"
    const fromRow = firstRow ?? 1 + stage.chance.below(6)
    yield* sendUntilAnswered(stage, {
      request: {
        _tag: "Control",
        key: `campaign ${name}`,
        numbers: [],
        value: isOpening ? { _tag: "Open" } : stopped,
        isProbe: false,
      },
      effect: Campaigns.use((service) => {
        if (action === "remove") {
          return Effect.as(service.remove(owner, workspace, mode, id), null)
        }
        if (action !== "resume") return service[action](owner, workspace, mode, id)
        // Only a restore asks which row to go on from.
        return Effect.catchTag(
          service.resume(owner, workspace, mode, id, {}),
          "Refusal",
          (refusal) =>
            refusal.code === "from_row_required"
              ? service.resume(owner, workspace, mode, id, { fromRow })
              : Effect.fail(refusal),
        )
      }),
      answer: (view) => ({
        _tag: "Done",
        ...(action === "stop" && view !== null ? { queued: view.rows.queued } : {}),
      }),
    })
  })

const read = (name: string) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const known = stage.campaigns.get(name)
    if (known === undefined) return
    yield* retryUntilAnswered(stage, {
      request: { _tag: "ReadCampaign", campaign: name },
      effect: Campaigns.use((service) =>
        service.get(owner, stage.tenant.workspace, known.mode, known.id),
      ),
      answer: ({ rows }) => ({ _tag: "Counted", rows }),
    })
  })

/** Changes what the model does not judge by; no answer is needed. */
const change = (name: string, changes: (stage: Stage) => object) => (stage: Stage) => {
  const known = stage.campaigns.get(name)
  if (known === undefined) return Effect.void
  const { workspace } = stage.tenant
  return Effect.ignore(
    stage.callProcess(
      Campaigns.use((service) =>
        service.update(owner, workspace, known.mode, known.id, changes(stage)),
      ),
    ),
  )
}

/** Makes a draft, adds its rows and starts it. */
const make = (request: MakeCampaign, calls: ReadonlyArray<AddCampaignRows>, starts: boolean) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const { campaign, mode } = request
    const created = yield* create(stage, request)
    if (created?._tag !== "Made") return
    const id = created.id as CampaignId
    stage.campaigns.set(campaign, { id, mode })
    for (const call of calls) yield* addRows(stage, id, mode, call)
    if (starts) yield* act(campaign, "start")(stage)
  })

const drawRow = (
  chance: Chance,
  label: string,
  index: number,
  start: number,
  before: ReadonlyArray<RequestedRow>,
  drops: boolean,
): RequestedRow => {
  const good = {
    label,
    phone: toPhone(firstPhone + index),
    code: null,
    sendAt: null,
    expiresAt: null,
  }
  const earlier = before.find((row) =>
    [row.code, row.sendAt, row.expiresAt].every((each) => each === null),
  )
  switch (chance.below(12)) {
    case 0:
      return oneOf<RequestedRow>(chance, [
        { ...good, phone: "12", code: "invalid_phone" },
        { ...good, code: "placeholder_empty" },
        { ...good, sendAt: start - minute, code: "time_in_past" },
        {
          ...good,
          sendAt: start + 80 * minute,
          expiresAt: start + 70 * minute,
          code: "validation_failed",
        },
      ])
    case 1:
      return earlier === undefined
        ? good
        : { ...good, phone: earlier.phone, code: drops ? "duplicate_recipient" : null }
    case 2:
      return { ...good, sendAt: start + chance.below(15 * minute) }
    case 3:
      return { ...good, expiresAt: start + minute + chance.below(15 * minute) }
    default:
      return good
  }
}

const planMake = (planning: Planning, name: string, at: number): Command => {
  const { chance, numbers, start } = planning
  const own = Array.from({ length: numbers }, (_, index) => index).filter(
    () => chance.below(2) === 0,
  )
  const request: MakeCampaign = {
    _tag: "MakeCampaign",
    campaign: name,
    mode: chance.below(8) === 0 ? "test" : "live",
    numbers: own.length === 0 ? null : own,
    reserve: oneOf(chance, [3, 3, 3, 0, 6]),
    dropsDuplicates: chance.below(2) === 0,
    isProbe: false,
    sendAt: chance.below(5) === 0 ? start + at + chance.below(3 * minute) : null,
  }
  const count = 3 + chance.below(oneOf(chance, [5, 12, 38]))
  const calls: Array<AddCampaignRows> = []
  for (let added = 0; added < count;) {
    const rows: Array<RequestedRow> = []
    const size = Math.min(count - added, 1 + chance.below(count))
    for (let each = 0; each < size; each++, added++) {
      rows.push(drawRow(chance, `r${added}`, added, start, rows, request.dropsDuplicates))
    }
    calls.push({ _tag: "AddCampaignRows", campaign: name, rows, isFile: chance.below(3) === 0 })
  }
  const starts = chance.below(10) !== 0
  return { at, name: `campaign ${name}`, perform: make(request, calls, starts) }
}

/** Hours that end or begin in the storm, which is at noon in Greenwich. */
const drawHours = (chance: Chance): object => {
  const clock = (minutes: number) => `12:${String(minutes).padStart(2, "0")}`
  const from = chance.below(10)
  return { hours: { from: clock(from), until: clock(from + 1 + chance.below(5)) } }
}

const planChanges = ({ chance, span, start }: Planning, name: string, at: number) => {
  const after = () => at + chance.below(Math.max(1, span - at))
  const commands: Array<Command> = []
  const plan = (what: string, perform: Command["perform"], about = after()) =>
    commands.push({ at: about, name: `${what} campaign ${name}`, perform })
  for (let pauses = chance.below(4); pauses > 0; pauses--) {
    const pausedAt = after()
    plan("pause", act(name, "pause"), pausedAt)
    plan(
      "resume",
      act(name, "resume"),
      pausedAt + chance.below(oneOf(chance, [5 * second, minute])),
    )
  }
  for (let reads = chance.below(3); reads > 0; reads--) plan("read", read(name))
  if (chance.below(4) === 0) plan("resume", act(name, "resume"))
  if (chance.below(4) === 0) {
    const hours = drawHours(chance)
    plan(
      "change",
      change(name, () => hours),
    )
  }
  if (chance.below(6) === 0) {
    const expiresAt = iso(start + span + chance.below(5 * minute))
    plan(
      "change",
      change(name, () => ({ expiresAt })),
    )
  }
  const end = chance.below(8)
  if (end < 2) plan(end === 0 ? "stop" : "remove", act(name, end === 0 ? "stop" : "remove"))
  return commands
}

/** Lets a campaign go on, or ends it. */
const goOn = (name: string) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const known = stage.campaigns.get(name)
    if (known === undefined) return
    const { workspace } = stage.tenant
    const found = yield* Effect.result(
      stage.callProcess(
        Campaigns.use((service) => service.get(owner, workspace, known.mode, known.id)),
      ),
    )
    if (Result.isFailure(found)) return
    const { hours, state } = found.success
    if (hours !== null) yield* change(name, () => ({ hours: null }))(stage)
    if (state === "paused") yield* act(name, "resume", 1)(stage)
    else if (state === "draft") yield* act(name, "start")(stage)
  })

const probedRow = (index: number): RequestedRow => ({
  label: `r${index}`,
  phone: toPhone(firstPhone + index),
  code: null,
  sendAt: null,
  expiresAt: null,
})

const probing: MakeCampaign = {
  _tag: "MakeCampaign",
  campaign: "gp",
  mode: "live",
  numbers: [roomyNumber],
  reserve: 0,
  dropsDuplicates: false,
  isProbe: true,
  sendAt: null,
}

/** Nothing leaves of a campaign that is paused while its rows are taken on, or while they wait. */
const probePause = Effect.fnUntraced(function* (stage: Stage) {
  const { campaign } = probing
  const rows = [0, 1, 2].map(probedRow)
  const added: AddCampaignRows = { _tag: "AddCampaignRows", campaign, rows, isFile: false }
  const pausedDuring = Effect.fnUntraced(function* (operation: string, opens: "start" | "resume") {
    stage.delay(operation, 300)
    yield* act(campaign, opens)(stage)
    yield* Effect.sleep(100)
    yield* act(campaign, "pause")(stage)
    yield* Effect.sleep(second)
    stage.delay(operation, 0)
    yield* Effect.sleep(second)
  })
  yield* make(probing, [added], false)(stage)
  yield* pausedDuring("campaigns.take", "start")
  yield* pausedDuring("queue.claim", "resume")
  yield* act(campaign, "resume")(stage)
  yield* Effect.sleep(3 * second)
})

/** Cancels what a process that dies in a stop has left. */
const probeStop = Effect.fnUntraced(function* (stage: Stage) {
  const rows = [0, 1, 2].map(probedRow)
  const added: AddCampaignRows = { _tag: "AddCampaignRows", campaign: cutStop, rows, isFile: false }
  yield* make({ ...probing, campaign: cutStop, isProbe: false }, [added], false)(stage)
  stage.delay("queue.claim", second)
  stage.delay("campaigns.waiting", second)
  yield* act(cutStop, "start")(stage)
  yield* Effect.sleep(100)
  const stop = yield* Effect.forkChild(act(cutStop, "stop")(stage))
  yield* Effect.sleep(100)
  stage.killProcesses()
  stage.delay("queue.claim", 0)
  stage.delay("campaigns.waiting", 0)
  yield* Fiber.join(stop)
  yield* Effect.sleep(20 * second)
  yield* read(cutStop)(stage)
})

export const campaigns: Feature = {
  name: "campaigns",
  plan: (planning) => {
    const { chance, instant } = planning
    const count = 1 + chance.below(3)
    return Array.from({ length: count }, (_, index) => {
      const name = `g${index}`
      const at = instant()
      return [planMake(planning, name, at), ...planChanges(planning, name, at)]
    }).flat()
  },
  calm: Effect.fnUntraced(function* (stage) {
    for (const name of stage.campaigns.keys()) {
      if (stage.chance.below(6) === 0) yield* act(name, "stop")(stage)
      yield* goOn(name)(stage)
    }
    // A number may still be refused, which pauses once more.
    yield* Effect.sleep(2 * minute)
    for (const name of stage.campaigns.keys()) yield* goOn(name)(stage)
  }),
  // The probes restore the store.
  probe: Effect.fnUntraced(function* (stage) {
    const audited = { ...stage, tenant: stage.audited }
    for (const name of stage.campaigns.keys()) yield* goOn(name)(audited)
    yield* probePause(stage)
    yield* probeStop(stage)
  }),
}
