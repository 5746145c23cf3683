/** The groups that a number belongs to, by their names, asked for when a name is needed. */
import { getBinaryNodeChild, getBinaryNodeChildren } from "baileys"
import type { BinaryNode, WASocket } from "baileys"

export interface Groups {
  /**
   * The addresses of the groups of exactly that name. What is known is asked for again when it has no
   * such name, and when it is old; null when the far side does not answer.
   */
  named(name: string, now: number): Promise<ReadonlyArray<string> | null>
  /** They have changed. */
  forget(): void
}

/** How long the answer holds for names that are in it, and for others: a group may be new. */
const heldMillis = 10 * 60_000
const missingMillis = 2000

interface Known {
  readonly at: number
  readonly byName: ReadonlyMap<string, ReadonlyArray<string>>
}

/** Whether what is said of a group may give its name to another, or take it away. */
export const changesNames = (notification: BinaryNode): boolean =>
  ["subject", "create", "delete"].some(
    (change) => getBinaryNodeChild(notification, change) !== undefined,
  )

export const makeGroups = (socket: Pick<WASocket, "query">): Groups => {
  let known: Known | null = null

  const ask = async (now: number): Promise<Known | null> => {
    const answer = await socket.query({
      tag: "iq",
      attrs: { to: "@g.us", xmlns: "w:g2", type: "get" },
      content: [
        {
          tag: "participating",
          attrs: {},
          content: [
            { tag: "participants", attrs: {} },
            { tag: "description", attrs: {} },
          ],
        },
      ],
    })
    const groups = answer === undefined ? undefined : getBinaryNodeChild(answer, "groups")
    if (groups === undefined) return null
    const byName = new Map<string, Array<string>>()
    for (const { attrs } of getBinaryNodeChildren(groups, "group")) {
      const { id, subject } = attrs
      if (id === undefined || subject === undefined) continue
      const ofName = byName.get(subject) ?? []
      ofName.push(id.includes("@") ? id : `${id}@g.us`)
      byName.set(subject, ofName)
    }
    return { at: now, byName }
  }

  return {
    named: async (name, now) => {
      const found = known?.byName.get(name)
      const age = known === null ? Infinity : now - known.at
      if (found !== undefined && age < heldMillis) return found
      if (found !== undefined || age >= missingMillis) known = (await ask(now)) ?? null
      return known === null ? null : (known.byName.get(name) ?? [])
    },
    forget: () => {
      known = null
    },
  }
}
