/** The end of a version 1 send is reported to its URL: truthfully, at least once within four attempts. */
import type { State } from "../History.ts"
import { toName } from "../History.ts"
import { getNotifications } from "./endpoints.ts"
import { hasLeft, messagesByName, getSends } from "./Promise.ts"
import type { JudgedPromise } from "./Promise.ts"

const callbackAttempts = 4

const getStatus = (state: State): string => (hasLeft(state) ? "SENT" : state.toUpperCase())

export const calledBack: JudgedPromise = {
  name: "callbacks",
  check: (history) => {
    const violations: Array<string> = []
    const received = Map.groupBy(
      getNotifications(history).filter(({ kind }) => kind === "callback"),
      ({ url }) => url,
    )
    const stored = messagesByName(history)
    const ids = new Map(history.final.events.map(({ eventId, messageId }) => [eventId, messageId]))
    const expected = new Set<string>()
    const names = new Map(
      getSends(history).flatMap(({ request }) =>
        request.callback === undefined
          ? []
          : [
              [
                request.callback,
                request.phones.map((phone) => toName(request.text, phone)),
              ] as const,
            ],
      ),
    )
    for (const [url, of] of names) {
      expected.add(url)
      const calls = received.get(url) ?? []
      const messages = of.flatMap((name) => stored.get(name) ?? [])
      for (const { body, eventId } of calls) {
        const form = new URLSearchParams(body)
        const message = messages.find(({ id }) => String(id) === form.get("msg_id"))
        const status = message === undefined ? "" : getStatus(message.state)
        const isTrue =
          message !== undefined &&
          form.get("status") === status &&
          form.has("error") === (status === "FAILED") &&
          ids.get(eventId) === message.id
        if (!isTrue) violations.push(`${url} was told ${body}, which is not so`)
      }
      for (const { id, name, state } of messages) {
        if (state === "waiting") continue
        const own = calls.filter(
          ({ body }) => new URLSearchParams(body).get("msg_id") === String(id),
        )
        if (own.length < callbackAttempts && !own.some(({ heard }) => heard)) {
          violations.push(`${url} was called ${own.length} times in vain for ${name}`)
        }
        if (new Set(own.map(({ body, eventId }) => `${eventId} ${body}`)).size > 1) {
          violations.push(`${url} was told in two versions of ${name}`)
        }
      }
    }
    for (const url of received.keys()) {
      if (!expected.has(url)) violations.push(`${url} was called, and no send names it`)
    }
    return violations
  },
}
