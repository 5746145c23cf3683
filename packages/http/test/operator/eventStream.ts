/** A reader of server-sent events over a real socket. */
import { request as nodeRequest } from "node:http"
import type { IncomingHttpHeaders, IncomingMessage } from "node:http"

export interface Frame {
  readonly event: string
  readonly id: number
  readonly data: { readonly ids?: ReadonlyArray<number>; readonly now?: string }
}

export interface EventReader {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** All that has arrived. */
  readonly text: () => string
  readonly frames: () => ReadonlyArray<Frame>
  /** Waits for text or an end that satisfies it. */
  readonly until: (isReached: (reader: EventReader) => boolean) => Promise<void>
  readonly hasEnded: () => boolean
  readonly close: () => void
}

const toFrame = (text: string): ReadonlyArray<Frame> => {
  const fields = Object.fromEntries(
    text.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.replace(/^\w*: ?/, "")]),
  )
  return fields["event"] === undefined
    ? []
    : [{ event: fields["event"], id: Number(fields["id"]), data: JSON.parse(fields["data"] ?? "") }]
}

const patienceMillis = 60_000

const makeReader = (response: IncomingMessage): EventReader => {
  let text = ""
  let ended = false
  const listeners = new Set<() => void>()
  const changed = () => {
    for (const listener of listeners) listener()
  }
  response.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk
    changed()
  })
  response.on("error", () => undefined)
  response.on("close", () => {
    ended = true
    changed()
  })
  const reader: EventReader = {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: () => text,
    frames: () => text.split("\n\n").flatMap(toFrame),
    hasEnded: () => ended,
    close: () => response.destroy(),
    until: (isReached) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`never reached: ${text}`)), patienceMillis)
        const check = () => {
          if (!isReached(reader)) return
          clearTimeout(late)
          listeners.delete(check)
          resolve()
        }
        listeners.add(check)
        check()
      }),
  }
  return reader
}

/** Opens a stream; resolves with its head. */
export const openEvents = (
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<EventReader> =>
  new Promise((resolve, reject) => {
    const outgoing = nodeRequest({ host: "127.0.0.1", port, path, agent: false, headers })
    outgoing.on("response", (response) => resolve(makeReader(response)))
    outgoing.on("error", reject)
    outgoing.end()
  })
