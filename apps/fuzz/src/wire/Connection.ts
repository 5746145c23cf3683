/**
 * One client's connection: bytes out, responses in. It serves several requests while the service
 * allows, and reconnects after anything but a plain request with its response.
 */
import { connect } from "node:net"
import type { Socket } from "node:net"
import { readAnswer } from "./AnswerReader.ts"
import type { WireAnswer } from "./AnswerReader.ts"

/** The result of a request. */
export type Outcome =
  | { readonly kind: "answer"; readonly answer: WireAnswer }
  /** The connection was closed, or could not be made. */
  | { readonly kind: "closed"; readonly why: string }
  | { readonly kind: "malformed"; readonly why: string }
  /** No complete answer within the time limit. */
  | { readonly kind: "silence" }

export interface Address {
  readonly host: string
  readonly port: number
  /** The client's address on the loopback interface; undefined: the system's choice. */
  readonly from: string | undefined
}

export interface Requester {
  readonly bytes: Buffer
  /** Decides whether an answer has a body. */
  readonly method: string
  /** How long to wait for an answer; once a short wait has met its beginning, `answerMillis`. */
  readonly patienceMillis: number
  /** Awaited before a wait counts as silence: proof that the service has come to these bytes. */
  readonly proof?: () => Promise<unknown>
  /** Sends on a separate connection and hangs up afterwards. */
  readonly alone: boolean
}

export interface Connection {
  request(request: Requester): Promise<Outcome>
  /** Sends and hangs up at once. */
  hangUp(bytes: Buffer): Promise<void>
  close(): void
}

export const makeConnection = (address: Address): Connection => {
  let stored: Socket | undefined

  const open = () =>
    connect({
      host: address.host,
      port: address.port,
      noDelay: true,
      ...(address.from === undefined ? {} : { localAddress: address.from }),
    })

  const take = (): readonly [socket: Socket, isUsed: boolean] => {
    const socket = stored
    stored = undefined
    return socket === undefined || socket.destroyed ? [open(), false] : [socket, true]
  }

  const once = async (request: Requester, socket: Socket): Promise<Outcome> => {
    const outcome = await exchange(socket, request)
    if (outcome.kind === "answer" && outcome.answer.keepsAlive && !request.alone) stored = socket
    else socket.destroy()
    return outcome
  }

  return {
    request: async (request) => {
      if (request.alone) return once(request, open())
      const [socket, isUsed] = take()
      const outcome = await once(request, socket)
      // The service may have closed the connection while the request was in transit.
      return isUsed && outcome.kind === "closed" && outcome.why === ""
        ? once(request, open())
        : outcome
    },
    hangUp: (bytes) =>
      new Promise((resolve) => {
        const socket = open()
        socket.once("error", () => undefined)
        socket.once("close", () => resolve())
        socket.write(bytes, () => socket.destroy())
      }),
    close: () => stored?.destroy(),
  }
}

/** The least time for an answer that has begun: a short patience is for requests that get none. */
const answerMillis = 10_000

/** Writes, and reads until an answer, an end, or the time limit. */
const exchange = (
  socket: Socket,
  { bytes, method, patienceMillis, proof = () => Promise.resolve() }: Requester,
): Promise<Outcome> =>
  new Promise((resolve) => {
    const received: Array<Buffer> = []
    let failure = ""
    const settle = (outcome: Outcome) => {
      clearTimeout(timer)
      socket.removeAllListeners()
      // The next request finds out that a connection broke later.
      socket.on("error", () => undefined)
      resolve(outcome)
    }
    const check = (ended: boolean) => {
      const all = received.length === 1 ? received[0] : Buffer.concat(received)
      const reading = readAnswer(all ?? Buffer.alloc(0), method, ended)
      if (reading.kind === "answer") settle(reading)
      else if (reading.kind === "malformed") settle(reading)
      else if (ended) settle({ kind: "closed", why: failure })
    }
    const silence = () => {
      // An answer that begins meanwhile sets another timer.
      const isOver = timer
      void proof().then(() => isOver === timer && settle({ kind: "silence" }))
    }
    const wait = (millis: number) => setTimeout(silence, millis)
    let timer = wait(patienceMillis)
    socket.on("data", (data) => {
      if (received.length === 0 && patienceMillis < answerMillis) {
        clearTimeout(timer)
        timer = wait(answerMillis)
      }
      received.push(data)
      check(false)
    })
    socket.on("error", (error) => {
      failure = error.message
    })
    socket.on("end", () => check(true))
    socket.on("close", () => check(true))
    socket.write(bytes)
  })
