/** Faults that a test has ordered: the matching call uses an order up. */

/** Points at which the server can refuse. */
export type Step =
  | "registration"
  | "login"
  | "pairing code"
  | "scan"
  | "pre-keys"
  | "keys"
  | "usync"
  /** The question is answered, and the answer contains an error. */
  | "usync result"
  /** The same for a question about devices. */
  | "devices result"
  | "groups"
  | "group"
  | "media connection"
  /** The questions about restrictions; the answer contains an error. */
  | "closed chats"
  | "chat cap"
  | "upload"

export type ConnectionOutcome =
  | "drop"
  | "silence"
  /** The answer to the upgrade request. */
  | { readonly status: number }

export interface ClosedChats {
  /** In milliseconds. Default: no end. */
  readonly until?: number
  /** WhatsApp's name of the reason. Default: `DEFAULT`. */
  readonly reason?: string
}

export type MessageOutcome =
  /** Refused with this code; no recipient gets it. */
  | { readonly nack: number }
  /** New chats are closed with a notice first, so a message to someone new is refused. */
  | { readonly closeNewChats: ClosedChats }
  /** The connection breaks: nothing done; all delivered, but no ack; all delivered and acked. */
  | { readonly drop: "before work" | "before ack" | "after ack" }
  /** Delivered; the ack stays back until `releaseAcks`. */
  | "withhold ack"
  /** Neither delivered nor answered. */
  | "lose"

export interface MessageOrder {
  readonly outcome: MessageOutcome
  /** The sending number. Default: any. */
  readonly from?: string
  /** The recipient's number or the group's id. Default: any. */
  readonly to?: string
  /** The number of messages. Default: one. */
  readonly times?: number
}

export interface Orders {
  readonly refuse: (step: Step, code: number, times: number) => void
  /** The code with which to refuse this time, if ordered. */
  readonly refusal: (step: Step) => number | undefined
  readonly connection: (outcome: ConnectionOutcome, times: number) => void
  readonly nextConnection: () => ConnectionOutcome | undefined
  readonly message: (order: MessageOrder) => void
  /** Unused orders for messages of that number, and for its answers. */
  readonly ordersLeft: (number: string) => number
  readonly loseAnswers: (number: string, times: number) => void
  /** Whether this answer of a device of that number gets lost. */
  readonly losesAnswer: (number: string) => boolean
  readonly nextMessage: (from: string, to: string) => MessageOutcome | undefined
}

interface Counted<A> {
  readonly order: A
  left: number
}

const makeList = <A>() => {
  const list: Array<Counted<A>> = []
  return {
    add: (order: A, times: number) => void list.push({ order, left: times }),
    left: (fits: (order: A) => boolean): number =>
      list.reduce((sum, { left, order }) => (fits(order) ? sum + left : sum), 0),
    take: (fits: (order: A) => boolean): A | undefined => {
      const found = list.find(({ left, order }) => left > 0 && fits(order))
      if (found !== undefined) found.left -= 1
      return found?.order
    },
  }
}

export const makeOrders = (): Orders => {
  const refusals = makeList<{ readonly step: Step; readonly code: number }>()
  const connections = makeList<ConnectionOutcome>()
  const messages = makeList<MessageOrder>()
  const answers = makeList<string>()
  return {
    refuse: (step, code, times) => refusals.add({ step, code }, times),
    refusal: (step) => refusals.take((order) => order.step === step)?.code,
    connection: (outcome, times) => connections.add(outcome, times),
    nextConnection: () => connections.take(() => true),
    message: (order) => messages.add(order, order.times ?? 1),
    loseAnswers: (number, times) => answers.add(number, times),
    losesAnswer: (number) => answers.take((order) => order === number) !== undefined,
    ordersLeft: (number) =>
      messages.left((order) => order.from === number) + answers.left((order) => order === number),
    nextMessage: (from, to) =>
      messages.take(
        (order) =>
          (order.from === undefined || order.from === from) &&
          (order.to === undefined || order.to === to),
      )?.outcome,
  }
}
