/** What the processes of the live rows are asked, and what they answer, over Node's own channel. */

/** The machine's steady clock, which all processes read alike. */
export const steadyMillis = (): number => Number(process.hrtime.bigint()) / 1e6

/** Orders for a measured program: the worker, or the bare sockets that it competes with. */
export type MeasuredOrder = { readonly kind: "memory" } | { readonly kind: "processor" }

/** Bytes, after the garbage was collected. */
export interface Memory {
  /** What the program holds: objects, and buffers outside the heap. */
  readonly held: number
  /** What the system has given to the process. */
  readonly resident: number
}

export interface Processor {
  /** Microseconds of processor time since the process began, of user and system. */
  readonly micros: number
}

/** Asked of the bare library: `sockets` of them send so many texts each, one after the other. */
export interface SendOrder {
  readonly kind: "send"
  /** The place of the first of them. */
  readonly first: number
  readonly sockets: number
  readonly each: number
  readonly to: string
}

export interface Sent {
  /** When a text was handed to the library, and when its acknowledgement came; steady clock. */
  readonly texts: ReadonlyArray<{ readonly began: number; readonly acknowledged: number }>
}

/** Asked of the remote server. */
export type RemoteServerOrder =
  /** Makes accounts of this number and the following ones, each with a device linked long ago. */
  | { readonly kind: "link"; readonly first: number; readonly count: number }
  | { readonly kind: "person"; readonly number: string }
  /** Answers once that many of the linked devices are connected, or none. */
  | { readonly kind: "online"; readonly first: number; readonly count: number }
  | { readonly kind: "offline"; readonly first: number; readonly count: number }
  /** How many messages the person's phone shows. */
  | { readonly kind: "copies"; readonly number: string }
  /** Answers once so many more than `visible` came to the person. */
  | {
      readonly kind: "arrivals"
      readonly number: string
      readonly visible: number
      readonly more: number
    }
  | { readonly kind: "complaints" }

export interface Started {
  /** Variables with which clients reach the remote server. */
  readonly settings: Readonly<Record<string, string>>
}

export interface Linked {
  /** Credentials of each device as its client keeps them. */
  readonly credentials: ReadonlyArray<string>
}

/** What a Telegram client keeps, as JSON. */
export interface LinkedAccount {
  readonly userId: number
  /** Its authorization key in base64. */
  readonly key: string
}

export interface Spell {
  /** From the first to the last, in milliseconds. */
  readonly millis: number
  /** When it was over; steady clock. */
  readonly ended: number
}
