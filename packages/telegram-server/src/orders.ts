/** Faults that a test has ordered: the matching call uses an order up. */

export type CallOutcome =
  /** The answer is this error; nothing was done. */
  | { readonly code: number; readonly error: string }
  /** The account's sessions end, and the answer is 401 with this text. */
  | { readonly revoke: string }
  /** The connection breaks: nothing done; all done, but no answer. */
  | { readonly drop: "before work" | "after work" }
  /** All done; the answer is never sent. */
  | "withhold"
  /** All done; the answer is sent once the test releases it (`answerHeld`). */
  | "hold"
  /** Neither done nor answered. */
  | "lose"

export interface CallOrder {
  /** The method's name, such as `messages.sendMessage`. Default: any that sends. */
  readonly method?: string
  /** The calling account. Default: any. */
  readonly phone?: string
  readonly outcome: CallOutcome
  /** The number of calls. Default: one. */
  readonly times?: number
}

const sends = new Set(["messages.sendMessage", "messages.sendMedia"])

export const makeOrders = () => {
  const list: Array<{ readonly order: CallOrder; left: number }> = []
  const isFor = ({ method, phone }: CallOrder, called: string, by: string | null) =>
    (method === undefined ? sends.has(called) : method === called) &&
    (phone === undefined || phone === by)
  return {
    add: (order: CallOrder) => void list.push({ order, left: order.times ?? 1 }),
    left: (phone: string): number =>
      list.reduce((sum, { left, order }) => (order.phone === phone ? sum + left : sum), 0),
    take: (method: string, phone: string | null): CallOutcome | undefined => {
      const found = list.find(({ left, order }) => left > 0 && isFor(order, method, phone))
      if (found !== undefined) found.left -= 1
      return found?.order.outcome
    },
    forget: (phone: string) => {
      for (const each of list) if (each.order.phone === phone) each.left = 0
    },
  }
}

export type Orders = ReturnType<typeof makeOrders>
