/**
 * The operations that the design adds, answered from those that the service has, with keys of version 2
 * for what the operator cannot ask. Good enough to try pages on, and for nothing else.
 */

// oxlint-disable-next-line typescript/no-explicit-any -- whatever the service says
export type Json = any

export interface Said {
  readonly status: number
  readonly body: Json
}

type AsOperator = (method: string, path: string, body?: Json) => Promise<Said>
type AsKey = (method: string, path: string, key: string, body?: Json) => Promise<Said>

export const addedOperations = (operator: AsOperator, withKey: AsKey) => {
  /** A key may ask 60 times a minute; then another one takes its place. */
  const keys = new Map<string, { readonly made: Promise<Json>; used: number }>()
  const freeKey = async (workspace: string): Promise<string> => {
    const path = `/admin/v1/workspaces/${workspace}/keys`
    let current = keys.get(workspace)
    if (current === undefined || current.used >= 50) {
      const old = current
      current = {
        made: operator("POST", path, { version: 2, name: "Dashboard" }).then(({ body }) => body),
        used: 0,
      }
      keys.set(workspace, current)
      // What it was asked before has its answer by then.
      setTimeout(() => {
        void old?.made.then(({ id }) => operator("DELETE", `${path}/${id}`)).catch(() => undefined)
      }, 3000).unref()
    }
    current.used += 1
    return (await current.made).key
  }
  const v2 = async (workspace: string, method: string, path: string, body?: Json) =>
    withKey(method, `/api/v2${path}`, await freeKey(workspace), body)

  const time = async (): Promise<number> =>
    Date.parse((await operator("GET", "/admin/v1/simulator/clock")).body.now)

  const connectionOf = async (workspace: string, number: number): Promise<Json> =>
    (await operator("GET", `/admin/v1/workspaces/${workspace}/numbers/${number}/connection`)).body

  const deliveriesOf = async (workspace: string): Promise<Array<Json>> => {
    const { body: hooks } = await operator("GET", `/admin/v1/workspaces/${workspace}/webhooks`)
    const found: Array<Json> = []
    for (const { id, url } of hooks.data) {
      const { body: log } = await operator(
        "GET",
        `/admin/v1/workspaces/${workspace}/webhooks/${id}/deliveries?limit=100`,
      )
      for (const entry of log.data) found.push({ ...entry, webhook_id: id, url })
    }
    return found
  }

  const waitingOf = async (workspace: string, message: Json) => {
    if (message.status !== "queued" && message.status !== "scheduled") return null
    const now = await time()
    const held: Array<Json> = []
    const connection = await connectionOf(workspace, message.from.id)
    const { next_send_at, paused_until, reason, state } = connection
    if (message.status === "scheduled")
      held.push({ reason: "scheduled", until: message.send_at, because: null })
    if (state !== "connected") held.push({ reason: "not_connected", until: null, because: reason })
    else if (reason !== null) held.push({ reason: "paused", until: paused_until, because: reason })
    else if (next_send_at !== null && Date.parse(next_send_at) > now && held.length === 0)
      held.push({ reason: "resting", until: next_send_at, because: null })
    const { body: queue } = await v2(
      workspace,
      "GET",
      `/messages?limit=100&status=queued&from=${message.from.id}`,
    )
    const ahead = queue.data.filter(({ id }: Json) => id < message.id).length
    if (held.length === 0 && ahead > 0) held.push({ reason: "sending", until: null, because: null })
    return { for: held, ahead }
  }

  const timeline = async (workspace: string, id: string): Promise<Said> => {
    const { body: message, status } = await v2(workspace, "GET", `/messages/${id}`)
    if (status !== 200) return { status, body: message }
    const blank = {
      attempt: null,
      event_id: null,
      webhook_id: null,
      url: null,
      response_status: null,
      duration_ms: null,
      next_attempt_at: null,
      error: null,
    }
    const entries: Array<Json> = [{ ...blank, at: message.created_at, type: "accepted" }]
    if (message.send_at && message.status !== "scheduled")
      entries.push({ ...blank, at: message.send_at, type: "due" })
    if (message.sent_at) entries.push({ ...blank, at: message.sent_at, type: "sent", attempt: 1 })
    if (message.error)
      entries.push({ ...blank, at: message.created_at, type: "failed", error: message.error })
    if (["delivered", "read"].includes(message.status))
      entries.push({ ...blank, at: message.sent_at, type: message.status })
    if (["cancelled", "expired"].includes(message.status))
      entries.push({ ...blank, at: message.expires_at ?? message.created_at, type: message.status })
    const told = message.sent_at ?? message.created_at
    const ended = message.sent_at === null ? message.status : "sent"
    for (const one of await deliveriesOf(workspace)) {
      const after = Date.parse(one.attempted_at) - Date.parse(told)
      if (one.type !== `message.${ended}` || after < 0 || after > 1500) continue
      entries.push({
        ...blank,
        ...one,
        at: one.attempted_at,
        type: "delivery",
        error: one.error === null ? null : { code: one.error, message: null },
      })
    }
    return {
      status: 200,
      body: {
        message,
        waiting: await waitingOf(workspace, message),
        data: entries.toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0)),
      },
    }
  }

  const list = async (workspace: string, query: string): Promise<Said> => {
    const asked = new URLSearchParams(query)
    const text = asked.get("text")
    asked.delete("text")
    const answer = await v2(workspace, "GET", `/messages?${asked}`)
    if (text !== null && answer.status === 200)
      answer.body.data = answer.body.data.filter((message: Json) =>
        message.text.toLowerCase().includes(text.toLowerCase()),
      )
    return answer
  }

  const cancelMany = async (workspace: string, ids: ReadonlyArray<number>) => {
    let cancelled = 0
    for (const id of ids) {
      const { status } = await v2(workspace, "DELETE", `/messages/${id}`)
      if (status === 200) cancelled += 1
    }
    return { cancelled, not_cancellable: ids.length - cancelled, more: false }
  }

  return {
    /** What a session says about the service. */
    about: async () => {
      const moved = await operator("POST", "/admin/v1/simulator/clock/advance", { seconds: -1 })
      return {
        now: new Date(await time()).toISOString(),
        simulated: true,
        adjustable_clock: moved.body.error?.code !== "clock_not_adjustable",
      }
    },

    /** The operations that are new; undefined for those that the service has. */
    answer: async (
      method: string,
      path: string,
      query: string,
      body: Json,
    ): Promise<Said | undefined> => {
      const [, workspace = "", rest = ""] =
        /^\/admin\/v1\/workspaces\/(\d+)(\/.*)$/.exec(path) ?? []
      if (rest === "/messages" && method === "GET") return list(workspace, query)
      if (rest === "/messages/cancel")
        return { status: 200, body: await cancelMany(workspace, body.ids) }
      const message = /^\/messages\/(\d+)(\/timeline)?$/.exec(rest)
      if (message?.[2] !== undefined) return timeline(workspace, message[1] ?? "")
      return undefined
    },
  }
}
